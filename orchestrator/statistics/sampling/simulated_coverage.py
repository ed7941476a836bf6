"""The classes that tasks cover, by simulation: a check of the bounds of ``task_coverage``."""

from dataclasses import dataclass
from math import ceil, floor, log

import numpy as np

from fsl_sweep.datasets.randomness import distinct

_DRAWS = 2 * 10**7
_AT_ONCE = 2 * 10**6
"""Classes drawn in a simulation, and of them held in memory at once."""


@dataclass(frozen=True)
class SimulatedCoverage:
    """What was seen in ``repeats`` draws of all training and test tasks.

    Attributes:
        seen: numbers of classes in the training tasks, int64 ``[repeats]``.
        disjoint: share of the draws in which training and test tasks have no class in common.
    """

    repeats: int
    seen: np.ndarray
    disjoint: float


def simulated_coverage(
    classes: int, way: int, train_tasks: int, test_tasks: int, gamma: float, seed: int = 0
) -> SimulatedCoverage:
    """Draw training and test tasks from one distribution that Assumption 1 just allows.

    Half of the classes (fewer, where others would have to be in more than every task) are in a
    task with probability gamma n / L, the others equally often in what is left.
    Up to 1,000 draws, fewer where they are large. Arguments as of ``disjoint_probability_bound``,
    which checks them.
    """
    least = gamma * way / classes
    # Until the rarest of the classes has been seen, and a few times as long as that.
    needed = min(max(train_tasks, test_tasks), ceil(2 * (1 + log(classes)) / least))
    repeats = max(10, min(1000, _DRAWS // (2 * way * needed)))
    rng = np.random.default_rng(seed)
    train, test = (
        _covered(classes, way, tasks, least, repeats, rng) for tasks in (train_tasks, test_tasks)
    )
    return SimulatedCoverage(
        repeats, train.sum(axis=1), float(np.mean(~(train & test).any(axis=1)))
    )


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
