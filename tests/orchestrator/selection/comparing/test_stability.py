from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from trials import TASKS, replicates, trial

from fsl_sweep.orchestrator.records.measures import ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selection.comparing.stability import Agreement, Stability, stability_of
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.resample import resample
from fsl_sweep.orchestrator.selection.select import select


def method(name: str, novel: list[float], last: float) -> list[TrialHistory]:
    """A trial for each seed; ``novel`` at the best ValGen, ``last`` at the end."""
    return replicates(name, [(at, last) for at in novel], base=[0.5, 0.6], val=[0.6, 0.5])


A = method("A", [0.60, 0.62, 0.50], 0.40)
B = method("B", [0.55, 0.56, 0.57], 0.45)
C = method("C", [0.30, 0.30, 0.30], 0.30)


def stable(trials, snapshot=("val",), resamples: int = 0) -> tuple[Stability, ...]:
    selected = select(trials, snapshot, ["val"])
    drawn = resample(trials, selected, resamples=resamples) if resamples else ()
    return stability_of(summarise(selected), drawn)


def test_by_hand() -> None:
    val, last = stable([*A, *B, *C], ["val", "last"])
    # Means .5733, .56, .30; the worst seeds .50, .55, .30.
    assert [row.method for row in val.methods] == ["A", "B", "C"]
    assert [row.mean for row in val.methods] == pytest.approx([1.72 / 3, 0.56, 0.30])
    assert [row.worst for row in val.methods] == pytest.approx([0.50, 0.55, 0.30])
    assert [row.worst_seed for row in val.methods[:2]] == [2, 0]
    assert val.by_worst == ("B", "A", "C")
    # Two of three seeds rank A before B; in the third, one of three pairs is turned round.
    assert val.seeds == Agreement(2, 3, pytest.approx((1 + 1 + 1 / 3) / 3))
    assert last.seeds == Agreement(3, 3, 1.0)
    assert [row.method for row in last.methods] == ["B", "A", "C"]
    # Each has one other strategy, which turns one pair round.
    for stability in (val, last):
        assert stability.strategies == Agreement(0, 1, pytest.approx(1 / 3))
        assert stability.tasks is None
        assert all(row.probability_best is None for row in stability.methods)


def test_what_there_is_nothing_to_agree_with() -> None:
    # Oracles are no other strategy.
    val, oracle = stable([*A, *B], ["val", "oracle"])
    assert val.strategies is None
    assert oracle.strategies is not None
    assert oracle.strategies.of == 1
    # One method has only its worst seed.
    (single,) = stable(A)
    assert (single.by_worst, single.methods[0].worst) == (("A",), pytest.approx(0.50))
    assert (single.seeds, single.tasks, single.strategies) == (None, None, None)
    # Seeds that are not common are not compared.
    assert stable([*A, *[replace(t, seed=t.seed + 7) for t in B]])[0].seeds is None


def test_probability_best_against_counting_and_ties_are_shared() -> None:
    """Tasks are all alike, so that only the draw of seeds decides: 2 of 3, with replacement."""
    (stability,) = stable([*A, *B], resamples=4000)
    first, second = product((0.60, 0.62, 0.50), repeat=2), product((0.55, 0.56, 0.57), repeat=2)
    outcomes = [(np.sign(round(sum(a) - sum(b), 9)) + 1) / 2 for a, b in product(first, second)]
    chances = {row.method: row.probability_best for row in stability.methods}
    # Two standard deviations of 4,000 draws are 0.015.
    assert chances["A"] == pytest.approx(np.mean(outcomes), abs=0.03)
    assert sum(filter(None, chances.values())) == pytest.approx(1)
    assert stability.tasks is not None
    assert (stability.tasks.same, stability.tasks.of) == (4000, 4000)
    twins = [*A, *[replace(t, method="TWIN") for t in A]]
    equal = select(twins, ["val"], ["val"])
    drawn = resample(twins, equal, resamples=50)
    same = [replace(cell, weights=drawn[0].weights) for cell in drawn]
    (tied,) = stability_of(summarise(equal), same)
    assert [row.probability_best for row in tied.methods] == [0.5, 0.5]


@pytest.mark.parametrize(("seeds", "known"), [(1, False), (2, False), (3, True)])
def test_a_chance_to_be_best_takes_three_seeds(seeds: int, known: bool) -> None:
    """Both of two seeds of A are above both of B: in every third run of equal methods."""
    (stability,) = stable([t for t in [*A, *B] if t.seed < seeds], resamples=50)
    assert [row.probability_best is not None for row in stability.methods] == [known, known]


def test_agreement_on_resampled_tasks() -> None:
    """Two methods with noisy tasks: how often a resample turns them round, against the normal."""
    generator = np.random.default_rng(3)
    shared, noise = generator.normal(0, 0.1, TASKS), generator.normal(0, 0.06, (2, TASKS))
    tables = np.clip(np.array([[0.50], [0.51]]) + shared + noise, 0, 1)
    trials = []
    for name, table in zip("AB", tables, strict=True):
        plain = trial(name, "x", base=[0.5], val=[0.5], novel=[0.5])
        report = {("novel", "report"): ScoreTable.from_accuracies(table[None])}
        trials.append(replace(plain, scores={**plain.scores, **report}))
    (stability,) = stable(trials, resamples=4000)
    apart = tables[0] - tables[1]
    expected = stats.norm.cdf(abs(apart.mean()) / (apart.std() / np.sqrt(TASKS)))
    assert stability.tasks is not None
    assert stability.tasks.same / stability.tasks.of == pytest.approx(expected, abs=0.04)
    tau = 2 * stability.tasks.same / stability.tasks.of - 1
    assert stability.tasks.tau == pytest.approx(tau, abs=0.01)
