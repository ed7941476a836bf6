"""Closed, open and paired intervals: against SciPy, by simulation, and the paper's outcomes."""

import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics.intervals import Interval, mean_interval, paired_interval
from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import (
    by_overlap,
    by_sign,
    example_uses,
    open_interval,
    three_intervals,
)


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
    got = open_interval(a, confidence)
    law = stats.t(tasks - 1, a.mean(), stats.sem(a)).interval(confidence)
    assert (got.low, got.high) == pytest.approx(law, rel=1e-12, abs=1e-12)
    assert (got.kind, got.n, got.mean) == ("open", tasks, a.mean())
    found = three_intervals(None, (a, b), confidence)
    law = stats.ttest_rel(a, b).confidence_interval(confidence)
    paired = found.paired.low, found.paired.high
    assert paired == pytest.approx((law.low, law.high), rel=1e-12, abs=1e-12)
    assert found.says["paired"] == by_sign(found.paired)


def test_the_rules_of_overlap_and_of_sign() -> None:
    assert [by_sign(around(mean, 0.1)) for mean in (0.2, -0.2, 0.05, 0.1)] == [
        "better",
        "worse",
        "undecided",
        "undecided",
    ]
    assert by_overlap(around(0.6, 0.04), around(0.5, 0.04)) == "better"
    assert by_overlap(around(0.5, 0.04), around(0.6, 0.04)) == "worse"
    assert by_overlap(around(0.6, 0.05), around(0.5, 0.06)) == "undecided"
    assert by_overlap(around(0.75, 0.125), around(0.5, 0.125)) == "undecided"  # they touch
    assert by_overlap(around(0.9, math.nan), around(0.1, 0.1)) == "undecided"
    # A standard error each of 1: apart by chance with the probability of |z| > 2 * 1.96 / sqrt(2).
    chance = 2 * stats.norm.sf(2 * stats.norm.ppf(0.975) / math.sqrt(2))
    assert 1 / chance == pytest.approx(180, abs=4)


def test_conclusive_closed_and_not_open() -> None:
    closed = exact(0.60, 0.1, 1000), exact(0.58, 0.1, 1000, 1)
    few = exact(0.60, 0.1, 10), exact(0.58, 0.1, 10, 1)
    found = three_intervals(closed, few, reuse=40.0)
    assert found.says == {
        "closed": "better",
        "closed paired": "better",
        "open": "undecided",
        "paired": "undecided",
    }
    assert found.closed_paired == paired_interval(*closed)
    assert not found.agree
    assert found.verdict("PN", "RR") == (
        "PN is better than RR on these examples (closed and closed paired), but open and paired "
        "intervals, which are about other examples too, do not tell them apart."
    )
    assert found.paired_on == "open"
    assert found.cautions[:2] == ("open: only 10 tasks", "paired: only 10 tasks")
    assert "closed: an example is in up to 40 tasks on average" in found.cautions


def test_inconclusive_open_and_conclusive_paired() -> None:
    task, noise = exact(0.6, 0.1, 40), exact(0, 0.01, 40, 1)
    found = three_intervals(None, (task + 0.02, task + noise))
    assert found.says == {"open": "undecided", "paired": "better"}
    assert found.verdict() == "a is better than b by paired intervals; open ones do not decide."
    assert found.closed is None
    assert found.cautions == ()


def test_an_inversion() -> None:
    """A is better on rare classes, B on frequent ones, which most open tasks are made of."""
    rng = np.random.default_rng(2)
    better = {True: 0.05, False: -0.03}

    def tasks(count: int, frequent: float) -> tuple[np.ndarray, np.ndarray]:
        rare = rng.random(count) > frequent
        a = np.where(rare, 0.6, 0.5) + rng.normal(0, 0.05, count)
        return a, a - np.where(rare, better[True], better[False]) + rng.normal(0, 0.01, count)

    found = three_intervals(tasks(4000, 0.3), tasks(200, 0.95))
    assert (found.says["closed"], found.says["paired"]) == ("better", "worse")
    assert found.inverted
    assert found.verdict("A", "B") == (
        "Inversion: A is better than B by closed and closed paired, but A is worse than B by open "
        "and paired."
    )


def test_where_all_agree() -> None:
    a, b = exact(0.7, 0.1, 300), exact(0.5, 0.1, 300, 1)
    found = three_intervals((b, a), (b[:50], a[:50]))
    assert found.agree
    assert found.verdict() == (
        "a is worse than b by closed, closed paired, open and paired intervals alike."
    )
    same = three_intervals((a, exact(0.7, 0.1, 300, 1)), None)
    assert same.verdict() == "Undecided: closed and paired intervals do not tell a from b."
    assert same.paired_on == "closed"
    assert same.cautions == (
        "nothing is about other examples: no tasks were drawn without replacement",
    )


EXPERIMENTS, EXAMPLES, PER_TASK = 2000, 120, 6


@pytest.fixture(scope="module")
def covered() -> dict[str, float]:
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
        found = three_intervals((often, often), (apart, b))
        assert found.open is not None
        assert found.closed is not None
        for name, interval, truth in (
            ("open", found.open[0], 0.0),
            ("paired", found.paired, 0.0),
            ("closed", found.closed[0], 0.0),
            ("closed on these examples", found.closed[0], examples.mean()),
        ):
            hits[name] += interval.low <= truth <= interval.high
    return {name: count / EXPERIMENTS for name, count in hits.items()}


@pytest.mark.parametrize("name", ["open", "paired", "closed on these examples"])
def test_coverage_where_the_assumptions_hold(covered, name) -> None:
    assert 0.93 <= covered[name] <= 0.97


def test_closed_intervals_fall_short_on_other_examples(covered) -> None:
    # Variance of the mean: 1 / (6 * 500) by the interval, and 1 / 120 more by the examples.
    expected = 1 - 2 * stats.norm.sf(stats.norm.ppf(0.975) / math.sqrt(1 + 3000 / 120))
    assert covered["closed"] == pytest.approx(expected, abs=0.04)
    assert expected < 0.35


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: three_intervals(None, None), "with or without replacement are needed"),
        (lambda: three_intervals(([0.1, 0.2], [0.1]), None), "common tasks, but there are 2 and 1"),
        (lambda: three_intervals(None, ([0.1, math.nan], [0.1, 0.2])), "1 of the values are not"),
        (lambda: three_intervals(([0.1, 0.2], [0.2, 0.1]), None, 1.2), "confidence must lie"),
        (lambda: example_uses(10, 5, 0, 15, 100), "are counted from 1"),
    ],
)
def test_what_is_refused(call, expected) -> None:
    with pytest.raises(ValueError, match=expected):
        call()


def test_cautions_of_single_constant_and_saturated_accuracies() -> None:
    single = three_intervals(None, ([0.5], [0.4]))
    assert single.says == {"open": "undecided", "paired": "undecided"}
    assert single.cautions[0] == "open: one task alone has no interval"
    constant = three_intervals((np.full(50, 0.5), np.full(50, 0.25)), None)
    assert "closed: all tasks have the same value" in constant.cautions
    assert "paired: all tasks have the same difference" in constant.cautions
    full = three_intervals((np.append(np.ones(99), 0.9), np.linspace(0.3, 0.4, 100)), None)
    assert full.cautions[0] == "closed: saturated near 100 %"
    assert example_uses(600, 5, 1, 15, 800) == 60.0


def test_closed_intervals_stay_the_usual_ones() -> None:
    a, b = np.random.default_rng(4).random((2, 300))
    found = three_intervals((a, b), None, 0.9)
    assert found.closed == (mean_interval(a, 0.9), mean_interval(b, 0.9))
