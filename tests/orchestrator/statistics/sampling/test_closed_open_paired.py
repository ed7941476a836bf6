"""Closed, open and paired intervals: against SciPy, by simulation, and the paper's outcomes."""

import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import Interval, example_uses, mean_interval, paired_interval
from fsl_sweep.orchestrator.statistics.sampling import closed_open_paired as sampled


def around(mean: float, half: float) -> Interval:
    return Interval(mean, mean - half, mean + half, 100, 0.95, "open", None)


def exact(mean: float, spread: float, tasks: int, seed: int = 0) -> np.ndarray:
    """Accuracies with just this mean and standard deviation."""
    values = np.random.default_rng(seed).normal(size=tasks)
    return mean + spread * (values - values.mean()) / values.std(ddof=1)


@pytest.mark.parametrize("tasks", [2, 7, 99, 100, 2000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_open_intervals_are_students_for_any_number_of_tasks(tasks, confidence) -> None:
    a, b = np.random.default_rng(tasks).random((2, tasks))
    got = sampled.open_interval(a, confidence)
    three = sampled.three_intervals(None, (a, b), confidence)
    law = stats.t(tasks - 1, a.mean(), stats.sem(a)).interval(confidence)
    assert (got.low, got.high) == pytest.approx(law, rel=1e-12, abs=1e-12)
    assert (got.kind, got.n, got.mean) == ("open", tasks, a.mean())
    law = stats.ttest_rel(a, b).confidence_interval(confidence)
    paired = three.paired.low, three.paired.high
    assert paired == pytest.approx((law.low, law.high), rel=1e-12, abs=1e-12)
    assert three.says["paired"] == sampled.by_sign(three.paired)


def test_the_rules_of_overlap_and_of_sign() -> None:
    signs = [sampled.by_sign(around(mean, 0.1)) for mean in (0.2, -0.2, 0.05, 0.1)]
    assert signs == ["better", "worse", "undecided", "undecided"]
    assert sampled.by_overlap(around(0.6, 0.04), around(0.5, 0.04)) == "better"
    assert sampled.by_overlap(around(0.5, 0.04), around(0.6, 0.04)) == "worse"
    assert sampled.by_overlap(around(0.6, 0.05), around(0.5, 0.06)) == "undecided"
    assert sampled.by_overlap(around(0.75, 0.125), around(0.5, 0.125)) == "undecided"  # they touch
    assert sampled.by_overlap(around(0.9, math.nan), around(0.1, 0.1)) == "undecided"
    # A standard error each of 1: apart by chance with the probability of |z| > 2 * 1.96 / sqrt(2).
    chance = 2 * stats.norm.sf(2 * stats.norm.ppf(0.975) / math.sqrt(2))
    assert 1 / chance == pytest.approx(180, abs=4)


def inversion():
    """A is better on rare classes, B on frequent ones, which most open tasks are made of."""
    rng = np.random.default_rng(2)
    for count, frequent in ((4000, 0.3), (200, 0.95)):
        rare = rng.random(count) > frequent
        a = np.where(rare, 0.6, 0.5) + rng.normal(0, 0.05, count)
        yield a, a - np.where(rare, 0.05, -0.03) + rng.normal(0, 0.01, count)


A, B, C = exact(0.7, 0.1, 300), exact(0.5, 0.1, 300, 1), exact(0.7, 0.1, 300, 1)
TASK, NOISE = exact(0.6, 0.1, 40), exact(0, 0.01, 40, 1)
PAPER = {
    "conclusive closed and not open": (
        (exact(0.60, 0.1, 1000), exact(0.58, 0.1, 1000, 1)),
        (exact(0.60, 0.1, 10), exact(0.58, 0.1, 10, 1)),
    ),
    "inconclusive open and conclusive paired": (None, (TASK + 0.02, TASK + NOISE)),
    "inversion": tuple(inversion()),
    "agreement": ((B, A), (B[:50], A[:50])),
    "undecided": ((A, C), None),
    "one task": (None, ([0.5], [0.4])),
    "constant": ((np.full(50, 0.5), np.full(50, 0.25)), None),
    "saturated": ((np.append(np.ones(99), 0.9), np.linspace(0.3, 0.4, 100)), None),
}


def test_the_paper_s_outcomes_in_words(snapshot) -> None:
    told = {}
    for name, (closed, without) in PAPER.items():
        three = sampled.three_intervals(
            closed, without, reuse=40.0 if name.startswith("conc") else 0.0
        )
        assert (three.closed is None, three.open is None) == (closed is None, without is None)
        assert three.agree == (len({*three.says.values()}) == 1)
        assert three.inverted == (name == "inversion")
        told[name] = [three.paired_on, three.says, three.verdict("PN", "RR"), three.cautions]
        if closed is not None:
            assert three.closed == (mean_interval(closed[0]), mean_interval(closed[1]))
            paired = three.paired if without is None else three.closed_paired
            assert paired == paired_interval(*closed)
    assert told == snapshot
    assert example_uses(600, 5, 1, 15, 800) == 60.0


EXPERIMENTS, EXAMPLES, PER_TASK = 2000, 120, 6


def test_coverage_where_the_assumptions_hold_and_on_other_examples() -> None:
    """Shares of experiments whose interval holds the true mean, of 0.

    Each is a new set of examples. A task's accuracy is the mean over its own; b differs from a by
    noise of the task.
    """
    rng = np.random.default_rng(3)
    hits = dict.fromkeys(("open", "paired", "closed", "closed on these examples"), 0)
    for _ in range(EXPERIMENTS):
        examples = rng.normal(size=EXAMPLES)
        apart = examples[rng.permutation(EXAMPLES).reshape(-1, PER_TASK)].mean(axis=1)
        b = apart + rng.normal(0, 0.3, len(apart))
        often = examples[rng.integers(0, EXAMPLES, (500, PER_TASK))].mean(axis=1)
        three = sampled.three_intervals((often, often), (apart, b))
        assert three.open is not None
        assert three.closed is not None
        for name, interval, truth in (
            ("open", three.open[0], 0.0),
            ("paired", three.paired, 0.0),
            ("closed", three.closed[0], 0.0),
            ("closed on these examples", three.closed[0], examples.mean()),
        ):
            hits[name] += interval.low <= truth <= interval.high
    covered = {name: count / EXPERIMENTS for name, count in hits.items()}
    for name in ("open", "paired", "closed on these examples"):
        assert 0.93 <= covered[name] <= 0.97
    # Variance of the mean: 1 / (6 * 500) by the interval, and 1 / 120 more by the examples.
    expected = 1 - 2 * stats.norm.sf(stats.norm.ppf(0.975) / math.sqrt(1 + 3000 / 120))
    assert covered["closed"] == pytest.approx(expected, abs=0.04)
    assert expected < 0.35
