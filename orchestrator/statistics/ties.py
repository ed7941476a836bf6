"""Ties: equal accuracies stay equal in whatever order they were summed."""

from math import ceil, log2

import numpy as np
from numpy.typing import ArrayLike

_STEPS = 2.0**28
"""Steps between 0 and 1. A step is far above the error of a sum of floats (1e-14), and below the
difference of two accuracies over 10,000 tasks with 10,000 queries each. A power of two, because a
mean of decimal numbers may lie halfway between two decimal steps, but not between two binary ones.
"""


def comparable(values: ArrayLike) -> np.ndarray:
    """Round accuracies, or means and mixtures of them, so that equal ones compare equal.

    0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ by 1e-16 as floats, which would decide which of
    equals is the first. NaN and infinite values stay as they are.

    Args:
        values: of any shape, in the units of accuracies.

    Returns:
        float64 of the same shape, multiples of 2^-28 (4e-9). For comparing only, not for showing.
    """
    return np.rint(np.asarray(values, dtype=np.float64) * _STEPS) / _STEPS + 0.0


def weighted_means(table: ArrayLike, weights: np.ndarray) -> np.ndarray:
    """Return means of the rows of ``table [E, T]`` under each of ``weights [R, T]``: ``[R, E]``.

    Weights are whole numbers. Accuracies in [0, 1] are rounded to multiples of a small power of
    two, so that sums are exact in whatever order a machine adds. To be compared, the means still
    have to go through ``comparable``.

    Raises:
        ValueError: shapes do not fit.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != weights.shape[1]:
        raise ValueError(f"Tables are [snapshots, {weights.shape[1]} tasks], not {values.shape}.")
    sums = weights.sum(axis=1)
    scale = 2.0 ** (52 - max(1, ceil(log2(sums.max()))))
    return weights @ np.rint(values * scale).T / scale / sums[:, None]  # [R, E]
