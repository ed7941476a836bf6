"""Means under whole-number weights, exact in any order of adding."""

from math import ceil, log2

import numpy as np
from numpy.typing import ArrayLike


def weighted_means(table: ArrayLike, weights: np.ndarray) -> np.ndarray:
    """Means of the rows of ``table [E, T]`` under each row of ``weights [R, T]``: ``[R, E]``.

    Accuracies in [0, 1] are taken as whole multiples of a power of two, fine enough that nothing
    that can be distinguished is lost, so that sums are exact in whatever order a machine adds: the
    same on every machine. Means that are to be compared go through ``ties.comparable``, like
    any other.

    Raises:
        ValueError: shapes do not fit.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != weights.shape[1]:
        raise ValueError(f"Tables are [snapshots, {weights.shape[1]} tasks], not {values.shape}.")
    sums = weights.sum(axis=1)
    scale = 2.0 ** (52 - max(1, ceil(log2(sums.max()))))
    return weights @ np.rint(values * scale).T / scale / sums[:, None]  # [R, E]
