"""How much of what varies over a grid follows from one axis only."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class MainEffect:
    """The share of variance that the means of an axis' levels explain.

    Attributes:
        share: in [0, 1].
        by_chance: what values without any pattern would give on average, (L - 1) / (n - 1) with L
            levels and n values: the mean over all orders of the values.
    """

    share: float
    by_chance: float


def main_effect(values: ArrayLike, levels: Sequence[Hashable]) -> MainEffect | None:
    """Return the main effect of an axis on ``values [n]``, each of which has a level of it.

    Variance of the levels' means over the variance of all values, ``V_j / V`` of a functional
    ANOVA. On a full grid with equally many values at each point, the shares of several axes, of
    their interactions and of what is not an axis (seeds) add up to 1.

    Source: Hutter, Hoos and Leyton-Brown, "An Efficient Approach for Assessing Hyperparameter
    Importance" (2014), section 3.

    Returns:
        None where each value has a level of its own, nothing varies, or levels have unequally many
        values: then an axis' share may hold that of another.

    Raises:
        ValueError: there are not as many levels as values.
    """
    data = np.asarray(values, np.float64)
    groups: dict[Hashable, list[float]] = {}
    for value, level in zip(data.tolist(), levels, strict=True):
        groups.setdefault(level, []).append(value)
    variance = float(data.var())
    if not 1 < len(groups) < len(data) or len({*map(len, groups.values())}) > 1:
        return None
    if variance <= 1e-24:  # rounding of equal values
        return None
    means = [np.mean(group) for group in groups.values()]
    return MainEffect(float(np.var(means)) / variance, (len(groups) - 1) / (len(data) - 1))
