"""The bounds of appendix B, against all outcomes of small cases and against simulation."""

import itertools
import math

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.sampling import task_coverage as of


def test_bounds_by_hand_and_corollary_1_by_its_example() -> None:
    assert of.expected_classes_lower_bound(10, 5, 2, 0.5) == pytest.approx(10 * (1 - 0.75**2))
    assert of.classes_variance_bound(5, 8) == 100
    assert of.disjoint_probability_bound(10, 5, 30, 20, 0.5) == pytest.approx(4 * 0.75**20)
    assert of.few_classes_probability_bound(100, 0.5, 0.5) == pytest.approx(2.25 / (0.5 * 25))
    assert of.few_classes_probability_bound(1, 0.9, 0.1) == 1
    assert of.disjoint_probability_bound(1000, 2, 1, 1, 0.1) == 1
    assert of.disjoint_probability_bound(5, 5, 1, 1, 1.0) == 0
    for classes in (20, 100, 964):
        tasks = of.tasks_for_overlap(classes, 5, 0.01, 0.5)
        assert tasks / classes == pytest.approx(2.397, abs=5e-4)
        at = math.ceil(tasks)
        assert of.disjoint_probability_bound(classes, 5, at, at, 0.5) <= 0.01


def by_hand():
    """Distributions of tuples of 2 of L classes, with the gamma that each just allows."""
    rng = np.random.default_rng(0)
    for classes in (3, 4, 5):
        tuples = list(itertools.combinations(range(classes), 2))
        holds = np.array([[c in pair for pair in tuples] for c in range(classes)])
        uniform = np.full(len(tuples), 1 / len(tuples))
        for chance in [uniform, *rng.dirichlet(np.ones(len(tuples)), 6)]:
            gamma = min(1.0, (holds @ chance).min() * classes / 2)
            yield classes, tuples, chance, gamma


@pytest.mark.parametrize("tasks", [1, 2, 3])
@pytest.mark.parametrize(("classes", "tuples", "chance", "gamma"), [*by_hand()])
def test_bounds_hold_over_all_outcomes_of_small_cases(
    classes: int, tuples: list, chance: np.ndarray, gamma: float, tasks: int
) -> None:
    law: dict[frozenset, float] = {}
    for outcome in itertools.product(range(len(tuples)), repeat=tasks):
        seen = frozenset(c for i in outcome for c in tuples[i])
        law[seen] = law.get(seen, 0.0) + math.prod(chance[i] for i in outcome)
    mean = sum(p * len(seen) for seen, p in law.items())
    variance = sum(p * (len(seen) - mean) ** 2 for seen, p in law.items())
    apart = sum(p * q for a, p in law.items() for b, q in law.items() if not a & b)
    assert sum(law.values()) == pytest.approx(1)
    assert of.expected_classes_lower_bound(classes, 2, tasks, gamma) <= mean + 1e-12
    assert of.classes_variance_bound(2, tasks) >= variance - 1e-12
    assert apart - 1e-12 <= of.disjoint_probability_bound(classes, 2, tasks, tasks, gamma) <= 1
    if gamma == 1:  # where all classes are equally likely, the mean is the bound
        assert of.expected_classes_lower_bound(classes, 2, tasks, 1.0) == pytest.approx(mean)
    if classes >= 2 * tasks:
        assert of.expected_classes_of_many(2, tasks, gamma) <= mean + 1e-12
        for eta in (0.1, 0.5, 0.9):
            few = sum(p for s, p in law.items() if len(s) <= eta * gamma * 2 * tasks / (1 + gamma))
            assert few <= of.few_classes_probability_bound(tasks, eta, gamma) <= 1


@pytest.mark.parametrize(
    ("classes", "way", "train", "test", "gamma"),
    [(98, 5, 600, 40, 0.5), (20, 5, 3, 4, 1.0), (6, 5, 4, 2, 0.3), (5, 5, 2, 2, 1.0)],
)
def test_simulation_keeps_to_the_bounds(classes, way, train, test, gamma) -> None:
    seen, disjoint = of.simulated_coverage(classes, way, train, test, gamma)
    error = seen.std() / math.sqrt(len(seen))
    least = of.expected_classes_lower_bound(classes, way, train, gamma)
    assert len(seen) == 1000
    assert least - 4 * error <= seen.mean() + 1e-9
    assert seen.max() <= min(classes, way * train)
    assert seen.var() <= of.classes_variance_bound(way, train)
    assert disjoint <= of.disjoint_probability_bound(classes, way, train, test, gamma)
    if gamma == 1:
        assert seen.mean() == pytest.approx(least, abs=4 * error + 1e-9)


def test_simulated_tasks_are_of_their_distribution() -> None:
    # One task each: they are apart with probability (L - n choose n) / (L choose n).
    seen, disjoint = of.simulated_coverage(12, 3, 1, 1, 1.0)
    assert (seen == 3).all()
    assert disjoint == pytest.approx(math.comb(9, 3) / math.comb(12, 3), abs=0.06)
    # Half of 12 classes with p = 1/8, half with 3/8: mean of Z over four tasks in closed form.
    mean = of.simulated_coverage(12, 3, 4, 1, 0.5)[0].mean()
    assert mean == pytest.approx(12 - 6 * (7 / 8) ** 4 - 6 * (5 / 8) ** 4, abs=0.15)
