"""What choosing a configuration gained against taking the first one, by hand."""

import numpy as np
import pytest
from scipy import stats
from trials import trial

from fsl_sweep.orchestrator.selection.comparing.overtuning import overtuning_of
from fsl_sweep.orchestrator.selection.select import select


def grid(seed: int, first: float, other: float):
    """The second configuration looks better by ValGen, with these NovelGen on the report tasks."""
    return [
        trial("A", name, seed, base=base, val=val, novel=[0.1, 0.1], report=report)
        for name, base, val, report in (
            ("1", [0.5, 0.5], [0.4, 0.5], [0.2, first]),
            ("2", [0.7, 0.6], [0.6, 0.5], [other, 0.3]),
        )
    ]


TRIALS = [*grid(0, 0.70, 0.66), *grid(1, 0.71, 0.70), *grid(2, 0.69, 0.70)]


def test_by_hand() -> None:
    (cell,) = overtuning_of(TRIALS, select(TRIALS, ["val"], ["val"]))
    assert (cell.method, str(cell.strategy), cell.seeds) == ("A", "val / val", (0, 1, 2))
    assert cell.values == pytest.approx((0.04, 0.01, -0.01))
    law = stats.t.interval(0.95, 2, np.mean(cell.values), stats.sem(cell.values))
    assert (cell.below.low, cell.below.high) == pytest.approx(law)
    assert cell.caution == "only 3 seeds"
    # By a mixture, where BaseGen is .5 of the first and .7 of the other.
    (mixed,) = overtuning_of(TRIALS, select(TRIALS, ["val"], ["val"], 0.5))
    assert mixed.values == pytest.approx((0.02 - 0.1, 0.005 - 0.1, -0.005 - 0.1))
    # By the last epoch, ValGen ties, and the first configuration stays.
    (last,) = overtuning_of(TRIALS, select(TRIALS, ["last"], ["val"]))
    assert last.values == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "trials",
    [
        [trial for trial in TRIALS if trial.configuration == "1"],
        [*TRIALS[:5], trial("A", "2", 2, end=None)],
        [*TRIALS[:4], *grid(2, np.nan, 0.7)],
    ],
)
def test_what_has_nothing_to_choose_among_or_is_not_complete_is_left_out(trials) -> None:
    assert overtuning_of(trials, select(trials, ["val"], ["val"])) == ()
