from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from trials import TASKS, trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select


def method(name: str, novel: list[float], last: list[float] | None = None) -> list[TrialHistory]:
    """A trial for each seed; ``novel`` at the best ValGen, ``last`` at the end."""
    return [
        trial(name, "x", seed, base=[0.5, 0.6], val=[0.6, 0.5], novel=[at, end], spread=0.0)
        for seed, (at, end) in enumerate(zip(novel, last or novel, strict=True))
    ]


A = method("A", [0.60, 0.62, 0.50], [0.40, 0.40, 0.40])
B = method("B", [0.55, 0.56, 0.57], [0.45, 0.45, 0.45])
C = method("C", [0.30, 0.30, 0.30], [0.30, 0.30, 0.30])


def test_by_hand() -> None:
    selected = select([*A, *B, *C], ["val", "last"], ["val"])
    val, last = stability_of(summarise(selected), None)
    # Means .5733, .56, .30; the worst seeds .50, .55, .30.
    assert [one.method for one in val.methods] == ["A", "B", "C"]
    assert [one.mean for one in val.methods] == pytest.approx([1.72 / 3, 0.56, 0.30])
    assert [(one.worst, one.worst_seed) for one in val.methods[:2]] == [
        (pytest.approx(0.50), 2),
        (pytest.approx(0.55), 0),
    ]
    assert val.by_worst == ("B", "A", "C")
    # Two of three seeds rank A before B; in the third, one of three pairs is turned round.
    assert val.seeds is not None
    assert (val.seeds.same, val.seeds.of) == (2, 3)
    assert val.seeds.tau == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert last.seeds is not None
    assert (last.seeds.same, last.seeds.of, last.seeds.tau) == (3, 3, 1.0)
    assert [one.method for one in last.methods] == ["B", "A", "C"]
    # Each has one other strategy, which turns one pair round.
    for one in (val, last):
        assert one.strategies is not None
        assert (one.strategies.same, one.strategies.of) == (0, 1)
        assert one.strategies.tau == pytest.approx(1 / 3)
        assert one.tasks is None
        assert all(own.probability_best is None for own in one.methods)


def test_oracles_are_no_other_strategy() -> None:
    selected = select([*A, *B], ["val", "oracle"], ["val"])
    val, oracle = stability_of(summarise(selected), None)
    assert val.strategies is None
    assert oracle.strategies is not None
    assert oracle.strategies.of == 1


def test_one_method_has_only_its_worst_seed() -> None:
    (one,) = stability_of(summarise(select(A, ["val"], ["val"])), None)
    assert one.by_worst == ("A",)
    assert (one.seeds, one.tasks, one.strategies) == (None, None, None)
    assert one.methods[0].worst == pytest.approx(0.50)


def test_seeds_that_are_not_common_are_not_compared() -> None:
    other = [replace(one, seed=one.seed + 7) for one in B]
    (one,) = stability_of(summarise(select([*A, *other], ["val"], ["val"])), None)
    assert one.seeds is None


def test_probability_best_against_counting_and_ties_are_shared() -> None:
    """Tasks are all alike, so that only the draw of seeds decides: 2 of 3, with replacement."""
    selected = select([*A, *B], ["val"], ["val"])
    cells = resample([*A, *B], selected, resamples=4000)
    (one,) = stability_of(summarise(selected), cells)
    outcomes = [
        (np.sign(round(x + y - u - v, 9)) + 1) / 2
        for x in (0.60, 0.62, 0.50)
        for y in (0.60, 0.62, 0.50)
        for u in (0.55, 0.56, 0.57)
        for v in (0.55, 0.56, 0.57)
    ]
    chances = {own.method: own.probability_best for own in one.methods}
    # Two standard deviations of 4,000 draws are 0.015.
    assert chances["A"] == pytest.approx(np.mean(outcomes), abs=0.03)
    assert sum(filter(None, chances.values())) == pytest.approx(1)
    assert one.tasks is not None
    assert (one.tasks.same, one.tasks.of) == (4000, 4000)
    twins = [*A, *[replace(t, method="TWIN") for t in A]]
    equal = select(twins, ["val"], ["val"])
    drawn = resample(twins, equal, resamples=50)
    same = [replace(cell, weights=drawn[0].weights) for cell in drawn]
    (tied,) = stability_of(summarise(equal), same)
    assert [own.probability_best for own in tied.methods] == [0.5, 0.5]


@pytest.mark.parametrize(("seeds", "known"), [(1, False), (2, False), (3, True)])
def test_a_chance_to_be_best_takes_three_seeds(seeds: int, known: bool) -> None:
    """Both of two seeds of A are above both of B: in every third run of equal methods."""
    given = [one for one in [*A, *B] if one.seed < seeds]
    selected = select(given, ["val"], ["val"])
    (one,) = stability_of(summarise(selected), resample(given, selected, resamples=50))
    assert [own.probability_best is not None for own in one.methods] == [known, known]


def test_agreement_on_resampled_tasks() -> None:
    """Two methods with noisy tasks: how often a resample turns them round, against the normal."""
    generator = np.random.default_rng(3)
    shared, tables = generator.normal(0, 0.1, TASKS), {}
    given = []
    for name, level in (("A", 0.50), ("B", 0.51)):
        one = trial(name, "x", base=[0.5], val=[0.5], novel=[0.5])
        tables[name] = np.clip(level + shared + generator.normal(0, 0.06, TASKS), 0, 1)[None]
        table = ScoreTable.from_accuracies(tables[name])
        given.append(replace(one, scores={**one.scores, ("novel", "report"): table}))
    selected = select(given, ["val"], ["val"])
    (one,) = stability_of(summarise(selected), resample(given, selected, resamples=4000))
    difference = (tables["A"] - tables["B"])[0]
    expected = stats.norm.cdf(abs(difference.mean()) / (difference.std() / np.sqrt(TASKS)))
    assert one.tasks is not None
    assert one.tasks.same / one.tasks.of == pytest.approx(expected, abs=0.04)
    assert one.tasks.tau == pytest.approx(2 * one.tasks.same / one.tasks.of - 1, abs=0.01)
