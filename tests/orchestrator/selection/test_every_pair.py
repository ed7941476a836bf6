"""One method, two learning rates, four snapshots: every pair of selectors, worked out by hand.

The situation is that of appendix F.1 of "Two Sides of Meta-Learning Evaluation".
"""

import pytest
from trials import trial

from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import select

#            epoch    1     2     3     4
FAST = trial(
    "PN",
    "1e-3",
    loss=[2.00, 0.50, 0.80, 0.90],
    base=[0.60, 0.70, 0.90, 0.85],
    val=[0.66, 0.60, 0.50, 0.45],
    novel=[0.55, 0.58, 0.42, 0.40],
    report=[0.54, 0.57, 0.43, 0.39],
)
# mixture     .63   .65   .70   .65
SLOW = trial(
    "PN",
    "1e-4",
    loss=[2.50, 2.00, 1.50, 1.40],
    base=[0.50, 0.58, 0.66, 0.80],
    val=[0.45, 0.55, 0.65, 0.62],
    novel=[0.41, 0.50, 0.60, 0.56],
    report=[0.40, 0.51, 0.61, 0.53],
)
# mixture     .475  .565  .655  .71

SNAPSHOTS = {"last": (4, 4), "train_loss": (2, 4), "base": (3, 4), "val": (1, 3)}
SNAPSHOTS |= {"mixture(0.5)": (3, 4), "oracle": (2, 3)}

F, S = "1e-3", "1e-4"
# What each hyperparameter selector takes of the two snapshots above, in the order base, val,
# mixture(0.5), oracle, budgeted-oracle(1): the last looks at the better ValGen alone.
CHOICES = {
    # base .85 .80; val .45 .62; mixture .65 .71; novel .40 .56
    "last": (F, S, S, S, S),
    # base .70 .80; val .60 .62; mixture .65 .71; novel .58 .56
    "train_loss": (S, S, S, F, S),
    # base .90 .80; val .50 .62; mixture .70 .71; novel .42 .56
    "base": (F, S, S, S, S),
    # base .60 .66; val .66 .65; mixture .63 .655; novel .55 .60
    "val": (S, F, S, S, F),
    # the snapshots of `base`
    "mixture(0.5)": (F, S, S, S, S),
    # base .70 .66; val .60 .65; mixture .65 .655; novel .58 .60
    "oracle": (F, S, S, S, S),
}
HYPERPARAMETERS = ("base", "val", "mixture(0.5)", "oracle", "budgeted-oracle(1)")
FRONTS = {"last": (F, S), "train_loss": (F, S), "base": (F, S), "val": (S,)}
FRONTS |= {"mixture(0.5)": (F, S), "oracle": (F, S)}
REPORT = {F: [0.54, 0.57, 0.43, 0.39], S: [0.40, 0.51, 0.61, 0.53]}


@pytest.fixture(scope="module")
def selected() -> Selected:
    return select([FAST, SLOW], list(SNAPSHOTS), [*HYPERPARAMETERS, "pareto"])


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
@pytest.mark.parametrize("hyperparameter", HYPERPARAMETERS)
def test_pair(selected: Selected, snapshot: str, hyperparameter: str) -> None:
    (one,) = [
        s
        for s in selected.selections
        if (s.strategy.snapshot, s.strategy.hyperparameter) == (snapshot, hyperparameter)
    ]
    configuration = CHOICES[snapshot][HYPERPARAMETERS.index(hyperparameter)]
    epoch = SNAPSHOTS[snapshot][(F, S).index(configuration)]
    assert (one.configuration, one.epoch) == (configuration, epoch)
    attained = REPORT[configuration][epoch - 1]
    assert one.novel.mean == pytest.approx(attained)
    # oracle / oracle takes epoch 3 of the slow one.
    assert one.regret == pytest.approx(0.61 - attained)
    spent = {"oracle": 2, "budgeted-oracle(1)": 1}.get(hyperparameter, 0)
    assert one.novel_evaluations == (8 if snapshot == "oracle" else spent)
    assert one.strategy.oracle == ("oracle" in snapshot + hyperparameter)


@pytest.mark.parametrize("snapshot", SNAPSHOTS)
def test_front(selected: Selected, snapshot: str) -> None:
    (one,) = [front for front in selected.fronts if front.snapshot == snapshot]
    assert tuple(point.configuration for point in one.kept) == FRONTS[snapshot]
    assert [point.epoch for point in one.points] == list(SNAPSHOTS[snapshot])
    assert one.oracle
    for point in one.points:
        assert point.report["novel"] == pytest.approx(REPORT[point.configuration][point.epoch - 1])


def test_a_front_alone_is_no_strategy() -> None:
    alone = select([FAST, SLOW], ["val"], ["pareto"])
    assert alone.strategies == ()
    assert alone.selections == ()
    assert len(alone.fronts) == 1
