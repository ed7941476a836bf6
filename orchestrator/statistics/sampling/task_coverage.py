"""Which classes tasks cover if all of them are drawn from one distribution.

N class tuples of n distinct classes each are independent draws over L classes, of which class i is
in a tuple with probability p_i >= gamma n / L (Assumption 1; gamma = 1 is the uniform
distribution). Z is the number of classes that are in any of the tuples. Every bound holds for all
such distributions.

Source: "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", appendix B.
"""

from math import ceil, floor, log

import numpy as np

from fsl_sweep.datasets.randomness import distinct

_DRAWS = 2 * 10**7
_AT_ONCE = 2 * 10**6
"""Classes drawn in a simulation, and of them held in memory at once."""


def expected_classes_lower_bound(classes: int, way: int, tasks: int, gamma: float) -> float:
    """Return the least mean of Z: L (1 - (1 - gamma n / L)^N).

    Source: Theorem 1, equation 8.

    Args:
        classes: L, at least ``way``.
        way: n, at least 1.
        tasks: N, at least 1.
        gamma: in (0, 1].

    Raises:
        ValueError: an argument is not in its range.
    """
    return classes * (1 - _unseen(classes, way, tasks, gamma))


def classes_variance_bound(way: int, tasks: int) -> float:
    """Return the greatest variance of Z: n^2 N / 2.

    Source: Theorem 2. Arguments as of ``expected_classes_lower_bound``.
    """
    return way**2 * tasks / 2


def disjoint_probability_bound(
    classes: int, way: int, train_tasks: int, test_tasks: int, gamma: float
) -> float:
    """Return the greatest probability that training and test tasks share no class.

    4 (1 - gamma n / L)^min(N_train, N_test), and at most 1.

    Source: Theorem 3. Arguments and exceptions as of ``expected_classes_lower_bound``.
    """
    unseen = (_unseen(classes, way, tasks, gamma) for tasks in (train_tasks, test_tasks))
    return min(1.0, 4 * max(unseen))


def tasks_for_overlap(classes: int, way: int, rho: float, gamma: float) -> float:
    """Return the tasks from which disjoint classes have a probability of at most ``rho``.

    Of training as well as of test tasks: ln(4 / rho) L / (gamma n). It is a bound, and no whole
    number.

    Source: Corollary 1; its example is rho 0.01, gamma 0.5, n 5: 2.397 L. ``rho`` lies in (0, 1);
    other arguments as of ``expected_classes_lower_bound``.
    """
    return log(4 / rho) * classes / (gamma * way)


def few_classes_probability_bound(tasks: int, eta: float, gamma: float) -> float:
    """Return the greatest probability of a Z of at most eta gamma n N / (1 + gamma).

    For L >= n N: (1 + gamma)^2 / (2 (1 - eta)^2 gamma^2 N), and at most 1.

    Source: Theorem 4, with Corollary 2 (``expected_classes_of_many``). ``eta`` lies in (0, 1);
    other arguments as of ``expected_classes_lower_bound``.
    """
    return min(1.0, (1 + gamma) ** 2 / (2 * (1 - eta) ** 2 * gamma**2 * tasks))


def expected_classes_of_many(way: int, tasks: int, gamma: float) -> float:
    """Return the least mean of Z where L >= n N: gamma n N / (1 + gamma).

    Source: Corollary 2. Arguments as of ``expected_classes_lower_bound``.
    """
    return gamma * way * tasks / (1 + gamma)


def simulated_coverage(
    classes: int, way: int, train_tasks: int, test_tasks: int, gamma: float, seed: int = 0
) -> tuple[np.ndarray, float]:
    """Draw training and test tasks from one distribution that Assumption 1 just allows.

    Half of the classes (fewer, where others would have to be in more than every task) are in a
    task with probability gamma n / L, the others equally often in what is left.
    Up to 1,000 draws, fewer where they are large. Arguments as of ``disjoint_probability_bound``,
    which checks them.

    Returns:
        Of each draw of all tasks, the number of classes in the training tasks, int64
        ``[repeats]``; and the share of draws in which training and test tasks have no class in
        common.
    """
    least = gamma * way / classes
    # Until the rarest of the classes has been seen, and a few times as long as that.
    needed = min(max(train_tasks, test_tasks), ceil(2 * (1 + log(classes)) / least))
    repeats = max(10, min(1000, _DRAWS // (2 * way * needed)))
    rng = np.random.default_rng(seed)
    train, test = (
        _covered(classes, way, tasks, least, repeats, rng) for tasks in (train_tasks, test_tasks)
    )
    return train.sum(axis=1), float(np.mean(~(train & test).any(axis=1)))


def _covered(
    classes: int, way: int, tasks: int, least: float, repeats: int, rng: np.random.Generator
) -> np.ndarray:
    """Return whether each class is in any of the tasks, bool ``[repeats, classes]``."""
    most_rare = classes if least >= 1 else floor((classes - way) / (1 - least) + 1e-9)
    rare = min(classes // 2, most_rare)
    expected = rare * least
    covered = np.zeros((repeats, classes), dtype=bool)
    left, chunk = tasks, max(1, _AT_ONCE // (repeats * way))
    while left and not covered.all():
        rows = np.repeat(np.arange(repeats), now := min(left, chunk))
        # So many of the rare ones, by chance rounded up or down, that their mean is right.
        of_rare = floor(expected) + (rng.random(len(rows)) < expected - floor(expected))
        for first, size, count, most in (
            (0, rare, of_rare, ceil(expected)),
            (rare, classes - rare, way - of_rare, way - floor(expected)),
        ):
            drawn = distinct(rng, np.full(len(rows), size), most)
            task, place = np.nonzero(np.arange(most) < count[:, None])
            covered[rows[task], first + drawn[task, place]] = True
        left -= now
    return covered


def _unseen(classes: int, way: int, tasks: int, gamma: float) -> float:
    """Return the probability that the rarest class is in none of the tasks."""
    if not (0 < gamma <= 1 and 0 < way <= classes and tasks > 0):
        raise ValueError(
            f"{tasks} tasks of {way} of {classes} classes, gamma {gamma}: each number is above 0, "
            "gamma at most 1, and no task has more classes than there are."
        )
    return (1 - gamma * way / classes) ** tasks
