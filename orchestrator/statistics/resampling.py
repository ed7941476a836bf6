"""Draws of tasks, classes and seeds: whole-number weights, and means under them."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from numpy.typing import ArrayLike

DECIMALS = 10


@dataclass(frozen=True)
class ClassTuples:
    """The classes of each task.

    Attributes:
        group: whose classes; tasks of one group share the draw of classes.
        classes: int ``[tasks, ways]``.
        together: the tuples of all tasks of the group, these included.
    """

    group: str
    classes: np.ndarray
    together: tuple[np.ndarray, ...]


class Resampling:
    """Weights of tasks in each resample: drawn once, and common to all that share the tasks.

    The first row is no resample: every task has the weight 1, so that the choice as it is comes
    out beside the others.

    Args:
        resamples: how many, at least 2.
        seed: what all draws follow from, with the name of what is drawn.

    Raises:
        ValueError: fewer than 2 resamples.
    """

    def __init__(self, resamples: int, seed: int = 0) -> None:
        if resamples < 2:
            raise ValueError(f"An interval needs 2 or more resamples, not {resamples}.")
        self.resamples, self.seed = resamples, seed
        self._drawn: dict[tuple[object, ...], np.ndarray] = {}
        self._classes: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def weights(
        self, name: Sequence[str], tasks: int, classes: ClassTuples | None = None
    ) -> np.ndarray:
        """Weights of tasks, float64 ``[resamples + 1, tasks]``, whole numbers.

        Args:
            name: which tasks; equal names with as many tasks are the same tasks.
            tasks: how many there are.
            classes: their class tuples, to draw classes in place of tasks.
        """
        key = (*name, tasks, None if classes is None else classes.group)
        if key not in self._drawn:
            rng = generator(self.seed, "/".join(name))
            drawn = (
                rng.multinomial(tasks, np.full(tasks, 1 / tasks), self.resamples)
                if classes is None
                else self._by_class(classes)
            )
            self._drawn[key] = np.vstack([np.ones(tasks), drawn]).astype(np.float64)
        return self._drawn[key]

    def _by_class(self, tuples: ClassTuples) -> np.ndarray:
        """A task counts as often as all of its classes together were drawn.

        Resamples that have no task of drawn classes alone are drawn again.
        """
        if tuples.group not in self._classes:
            self._classes[tuples.group] = self._draw_classes(tuples)
        classes, times = self._classes[tuples.group]
        return times[:, np.searchsorted(classes, tuples.classes)].prod(axis=2)

    def _draw_classes(self, tuples: ClassTuples) -> tuple[np.ndarray, np.ndarray]:
        rng = generator(self.seed, f"classes/{tuples.group}")
        classes = np.unique(np.concatenate([part.ravel() for part in tuples.together]))
        count, kept = len(classes), np.empty((0, len(classes)), dtype=np.int64)
        for _ in range(1000):
            drawn = rng.multinomial(count, np.full(count, 1 / count), self.resamples)
            there = [
                drawn[:, np.searchsorted(classes, part)].prod(axis=2).any(axis=1)
                for part in tuples.together
            ]
            kept = np.vstack([kept, drawn[np.logical_and.reduce(there)]])[: self.resamples]
            if len(kept) == self.resamples:
                return classes, kept
        raise ValueError(
            f"{count} classes cannot be resampled: hardly any draw of them holds a whole task. "
            "Resample tasks instead."
        )


def weighted_means(table: ArrayLike, weights: np.ndarray) -> np.ndarray:
    """Means of the rows of ``table [E, T]`` under each row of ``weights [R, T]``: ``[R, E]``.

    Accuracies in [0, 1] are taken as whole multiples of a power of two, fine enough that nothing
    that can be told apart is lost, so that sums are exact in whatever order a machine adds: the
    same on every machine, with ties where there are ties.

    Raises:
        ValueError: shapes do not fit.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != weights.shape[1]:
        raise ValueError(f"Tables are [snapshots, {weights.shape[1]} tasks], not {values.shape}.")
    sums = weights.sum(axis=1)
    scale = 2.0 ** (52 - max(1, ceil(log2(sums.max()))))
    means = weights @ np.rint(values * scale).T / scale / sums[:, None]  # [R, E]
    return np.round(means, DECIMALS)


def seed_weights(resamples: int, seeds: int, seed: int, name: str) -> np.ndarray:
    """Share of each seed in each resample ``[resamples, seeds]``; rows sum to 1.

    One seed less than there are is drawn, with replacement: with as many as there are, the
    variance of the mean would come out (seeds - 1) / seeds too small, which for 3 seeds is a
    third (McCarthy and Snowden, "The Bootstrap and Finite Population Sampling", 1985). A single
    seed is kept: there is nothing to draw from.
    """
    if seeds == 1:
        return np.ones((resamples, 1))
    rng = generator(seed, f"seeds/{name}")
    return rng.multinomial(seeds - 1, np.full(seeds, 1 / seeds), resamples) / (seeds - 1)


def class_tuples(group: str, classes: ArrayLike, *others: ArrayLike) -> ClassTuples:
    """The class tuples ``[tasks, ways]`` of some tasks; ``others`` share their classes.

    Raises:
        ValueError: they are not two-dimensional.
    """
    parts = [np.asarray(part, dtype=np.int64) for part in (classes, *others)]
    if any(part.ndim != 2 for part in parts):
        raise ValueError("Class tuples are [tasks, ways]: resampling needs tasks of equal ways.")
    return ClassTuples(group, parts[0], tuple(parts))


def generator(seed: int, name: str) -> np.random.Generator:
    """The random numbers for what is called ``name``: adding other draws changes none of them."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
