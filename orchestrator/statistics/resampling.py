"""Draws of tasks, classes and seeds, each from a seed and a name."""

import zlib
from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.class_draws import ClassDraw, ClassTuples

NEVER = 1e-12
"""A chance that is neglected: with 10^8 snapshots and resamples, 10^-4 in all."""


class Resampling:
    """Weights of tasks in each resample: drawn once, and common to all that share the tasks.

    The first row is not a resample: every task has the weight 1.

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
        self._classes: dict[str, ClassDraw] = {}

    def weights(self, name: Sequence[str], tasks: int) -> np.ndarray:
        """Return weights of tasks, float64 ``[resamples + 1, tasks]``, whole numbers.

        Args:
            name: which tasks; equal names with as many tasks are the same tasks.
            tasks: how many there are.
        """
        key = (*name, tasks)
        if key not in self._drawn:
            rng = generator(self.seed, "/".join(name))
            drawn = rng.multinomial(tasks, np.full(tasks, 1 / tasks), self.resamples)
            self._drawn[key] = np.vstack([np.ones(tasks), drawn]).astype(np.float64)
        return self._drawn[key]

    def shifts(self, table: ArrayLike, tuples: ClassTuples) -> np.ndarray:
        """Return what a draw of classes adds to means of resampled tasks, ``[resamples + 1, E]``.

        One draw serves all tasks of a group. See ``ClassDraw.shifts``; raises as ``ClassDraw.of``.
        """
        if tuples.group not in self._classes:
            rng = generator(self.seed, f"classes/{tuples.group}")
            self._classes[tuples.group] = ClassDraw.of(tuples, self.resamples, rng)
        return self._classes[tuples.group].shifts(table, tuples.classes)


def may_be_higher(
    gaps: np.ndarray, variances: np.ndarray | float, most: np.ndarray, tasks: int
) -> np.ndarray:
    """Return whether a resample of tasks may turn each difference of means round, bool.

    A resample draws the tasks independently, so that Bernstein's inequality bounds the chance of
    it: exp(-T g^2 / (2 v + 2 m g / 3)). Where that is below NEVER, the answer is no.

    Source: Boucheron, Lugosi and Massart, "Concentration Inequalities" (2013), section 2.8.

    Args:
        gaps: how far each mean lies below another on the same tasks, g.
        variances: of the differences over tasks, or upper bounds, v.
        most: how far a single difference lies above their mean, at most, m.
        tasks: their number T.
    """
    # Less what ``ties.comparable`` may make of two means.
    g = np.maximum(np.asarray(gaps) - 2.0**-27, 0.0)
    return tasks * g**2 <= -log(NEVER) * (2 * variances + 2 * most * g / 3)


def seed_weights(resamples: int, seeds: int, seed: int, name: str) -> np.ndarray:
    """Return the share of each seed in each resample ``[resamples, seeds]``; rows sum to 1.

    One seed less than there are is drawn, with replacement: with as many, the variance of the mean
    would be too small by the factor (seeds - 1) / seeds (McCarthy and Snowden, "The Bootstrap and
    Finite Population Sampling", 1985). A single seed is kept.
    """
    if seeds == 1:
        return np.ones((resamples, 1))
    rng = generator(seed, f"seeds/{name}")
    return rng.multinomial(seeds - 1, np.full(seeds, 1 / seeds), resamples) / (seeds - 1)


def generator(seed: int, name: str) -> np.random.Generator:
    """Return random numbers for ``name``; they do not depend on other draws."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
