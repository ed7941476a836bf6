"""The bounds of appendix B, against all outcomes of small cases and against simulation."""

import itertools
import math

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.sampling.simulated_coverage import simulated_coverage
from fsl_sweep.orchestrator.statistics.sampling.task_coverage import (
    classes_variance_bound,
    disjoint_probability_bound,
    expected_classes_lower_bound,
    expected_classes_of_many,
    few_classes_probability_bound,
    tasks_for_overlap,
)


def test_corollary_1_by_its_example() -> None:
    for classes in (20, 100, 964):
        needed = tasks_for_overlap(classes, 5, 0.01, 0.5)
        assert needed / classes == pytest.approx(2.397, abs=5e-4)
        at = math.ceil(needed)
        assert disjoint_probability_bound(classes, 5, at, at, 0.5) <= 0.01


def by_hand() -> list:
    """Distributions of tuples of 2 of L classes, with the gamma that each just allows."""
    rng = np.random.default_rng(0)
    found = []
    for classes in (3, 4, 5):
        tuples = list(itertools.combinations(range(classes), 2))
        chances = [np.full(len(tuples), 1 / len(tuples)), *rng.dirichlet(np.ones(len(tuples)), 6)]
        for chance in chances:
            inside = [
                sum(p for t, p in zip(tuples, chance, strict=True) if c in t)
                for c in range(classes)
            ]
            found.append((classes, tuples, chance, min(1.0, min(inside) * classes / 2)))
    return found


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize("case", by_hand())
def test_bounds_hold_over_all_outcomes_of_small_cases(case: tuple, tasks: int) -> None:
    classes, tuples, chance, gamma = case
    law: dict[frozenset, float] = {}
    for outcome in itertools.product(range(len(tuples)), repeat=tasks):
        seen = frozenset(c for i in outcome for c in tuples[i])
        law[seen] = law.get(seen, 0.0) + math.prod(chance[i] for i in outcome)
    mean = sum(p * len(seen) for seen, p in law.items())
    variance = sum(p * (len(seen) - mean) ** 2 for seen, p in law.items())
    apart = sum(p * q for a, p in law.items() for b, q in law.items() if not a & b)
    assert sum(law.values()) == pytest.approx(1)
    assert expected_classes_lower_bound(classes, 2, tasks, gamma) <= mean + 1e-12
    assert classes_variance_bound(2, tasks) >= variance - 1e-12
    assert apart - 1e-12 <= disjoint_probability_bound(classes, 2, tasks, tasks, gamma) <= 1
    if gamma == 1:  # where all classes are equally likely, the mean is the bound
        assert expected_classes_lower_bound(classes, 2, tasks, 1.0) == pytest.approx(mean)
    if classes >= 2 * tasks:
        assert expected_classes_of_many(2, tasks, gamma) <= mean + 1e-12
        for eta in (0.1, 0.5, 0.9):
            few = sum(p for s, p in law.items() if len(s) <= eta * gamma * 2 * tasks / (1 + gamma))
            assert few <= few_classes_probability_bound(tasks, eta, gamma) <= 1


def test_bounds_by_hand() -> None:
    assert expected_classes_lower_bound(10, 5, 2, 0.5) == pytest.approx(10 * (1 - 0.75**2))
    assert classes_variance_bound(5, 8) == 100
    assert disjoint_probability_bound(10, 5, 30, 20, 0.5) == pytest.approx(4 * 0.75**20)
    assert few_classes_probability_bound(100, 0.5, 0.5) == pytest.approx(2.25 / (0.5 * 25))
    assert few_classes_probability_bound(1, 0.9, 0.1) == 1
    assert disjoint_probability_bound(1000, 2, 1, 1, 0.1) == 1
    assert disjoint_probability_bound(5, 5, 1, 1, 1.0) == 0


@pytest.mark.parametrize(
    ("classes", "way", "train", "test", "gamma"),
    [(98, 5, 600, 40, 0.5), (20, 5, 3, 4, 1.0), (6, 5, 4, 2, 0.3), (5, 5, 2, 2, 1.0)],
)
def test_simulation_keeps_to_the_bounds(classes, way, train, test, gamma) -> None:
    got = simulated_coverage(classes, way, train, test, gamma)
    error = got.seen.std() / math.sqrt(got.repeats)
    least = expected_classes_lower_bound(classes, way, train, gamma)
    assert got.repeats == 1000
    assert least - 4 * error <= got.seen.mean() + 1e-9
    assert got.seen.max() <= min(classes, way * train)
    assert got.seen.var() <= classes_variance_bound(way, train)
    assert got.disjoint <= disjoint_probability_bound(classes, way, train, test, gamma)
    if gamma == 1:
        assert got.seen.mean() == pytest.approx(least, abs=4 * error + 1e-9)


def test_simulated_tasks_are_of_the_distribution_that_is_asked_for() -> None:
    # One task each: they are apart with probability (L - n choose n) / (L choose n).
    got = simulated_coverage(12, 3, 1, 1, 1.0)
    assert (got.seen == 3).all()
    assert got.disjoint == pytest.approx(math.comb(9, 3) / math.comb(12, 3), abs=0.06)
    # Half of 12 classes with p = 1/8, half with 3/8: mean of Z over four tasks in closed form.
    mean = simulated_coverage(12, 3, 4, 1, 0.5).seen.mean()
    assert mean == pytest.approx(12 - 6 * (7 / 8) ** 4 - 6 * (5 / 8) ** 4, abs=0.15)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: expected_classes_lower_bound(4, 5, 10, 0.5), "5 classes or more, not 4"),
        (lambda: expected_classes_lower_bound(10, 5, 0, 0.5), "tasks must be a whole number"),
        (lambda: expected_classes_lower_bound(10, 0, 1, 0.5), "of a task must be a whole number"),
        (lambda: expected_classes_lower_bound(10.5, 5, 1, 0.5), "classes must be a whole number"),
        (lambda: disjoint_probability_bound(10, 5, 1, 1, 1.2), "gamma must be above 0"),
        (lambda: disjoint_probability_bound(10, 5, 1, -1, 0.5), "tasks must be a whole number"),
        (lambda: classes_variance_bound(True, 3), "whole number from 1, not True"),
        (lambda: tasks_for_overlap(10, 5, 0.0, 0.5), "rho must lie between 0 and 1, not 0.0"),
        (lambda: few_classes_probability_bound(10, 1.0, 0.5), "eta must lie between 0 and 1"),
        (lambda: few_classes_probability_bound(10, 0.5, math.nan), "gamma .* not nan"),
    ],
)
def test_arguments_out_of_range(call, expected) -> None:
    with pytest.raises(ValueError, match=expected):
        call()
