"""Accuracies over P_BN(lambda): where two methods change places, and how far it is from a mixture.

In a task of P_BN(lambda) each class is novel with probability lambda and else a base class, so that
most tasks hold both. The linear mixture has tasks of base classes only and of novel ones only.
The two agree at 0 and at 1, and there only.

Source: "Two Sides of Meta-Learning Evaluation", appendix E.3 and figure 5.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.intervals import Interval, checked, weighted_interval
from fsl_sweep.orchestrator.statistics.ties import comparable


def crossings(weights: Sequence[float], effects: Sequence[float]) -> tuple[float, ...]:
    """Return the lambdas at which the order of two methods changes, on straight lines between.

    Where they are equal in between, it changes in the middle of that; touching is no change.

    Args:
        weights: lambda, ascending in [0, 1].
        effects: accuracy of the first method minus that of the second at each.
    """
    at, apart = np.asarray(weights), comparable(effects)
    where: list[float] = []
    for i, j in pairwise(np.flatnonzero(apart)):
        if apart[i] * apart[j] < 0:
            zero = at[i] + (at[j] - at[i]) * apart[i] / (apart[i] - apart[j])
            where.append(float(zero if j == i + 1 else (at[i + 1] + at[j - 1]) / 2))
    return tuple(where)


def mixture_gap(
    mixed: ArrayLike, base: ArrayLike, novel: ArrayLike, weight: float, confidence: float = 0.95
) -> Interval:
    """Return the interval of P_BN(lambda) minus ``(1 - lambda) BaseGen + lambda NovelGen``.

    Args:
        mixed: of the same snapshots on tasks of P_BN(lambda) ``[n1]``.
        base: on independent tasks of base classes ``[n2]``.
        novel: on independent tasks of novel classes ``[n3]``.
        weight: lambda, in [0, 1]; what has no weight is not used.
        confidence: in (0, 1).

    Raises:
        ValueError: values are missing or not finite, or confidence is out of range.
    """
    parts = [(1.0, mixed), (weight - 1, base), (-weight, novel)]
    return weighted_interval([(w, checked(x)) for w, x in parts if w], confidence, "mixture")
