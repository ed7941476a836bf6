"""Whether one method is better than another on common tasks, one by one or in a family."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import (
    NORMAL_FROM,
    Interval,
    differences,
    mixture_error,
    mixture_interval,
    paired_interval,
    standard_error,
)

Verdict = Literal["better", "worse", "equivalent", "undecided"]


@dataclass(frozen=True)
class Comparison:
    """The verdict on a against b.

    Attributes:
        verdict: of a: ``better``, ``worse``, ``equivalent`` (surely within the rope) or
            ``undecided``.
        effect: paired interval of a - b.
        p_value: two-sided, of the hypothesis that the true difference lies within the rope (for a
            rope of 0: that there is none); NaN for a single task.
        p_adjusted: the same after Holm's correction across its family.
        rope: region of practical equivalence: differences up to this do not matter.
        caution: why not to trust it, or None.
    """

    verdict: Verdict
    effect: Interval
    p_value: float
    p_adjusted: float
    rope: float
    caution: str | None


def compare(
    a: ArrayLike, b: ArrayLike, rope: float = 0.0, *, confidence: float = 0.95
) -> Comparison:
    """Compare accuracies ``a [n]`` and ``b [n]`` on the same tasks in the same order.

    ``better`` when the whole paired interval lies above the rope, ``worse`` when below,
    ``equivalent`` when inside [-rope, rope] (with a rope of 0: when all differences are zero),
    else ``undecided``. The p value agrees: it is below 1 - confidence just when the interval lies
    outside the rope.

    Source: "Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning",
    section on paired tests.

    Raises:
        ValueError: as ``paired_interval``, or the rope is negative.
    """
    effect = paired_interval(a, b, confidence)
    difference = differences(a, b)
    freedom = inf if len(difference) >= NORMAL_FROM else len(difference) - 1
    return _judged(effect, standard_error(difference), freedom, rope)


def compare_mixtures(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    weight: float,
    rope: float = 0.0,
    *,
    confidence: float = 0.95,
) -> Comparison:
    """Compare a and b by a mixture of two distributions of tasks.

    ``first`` holds the accuracies of a and of b, ``[n1]`` each, on the same tasks of the first
    distribution; ``second`` holds them on other tasks, ``[n2]``, of the second. The effect is
    ``weight * mean(first a - first b) + (1 - weight) * mean(second a - second b)``: two paired
    means, independent of each other (see ``mixture_error``). Verdicts are as in ``compare``.

    Raises:
        ValueError: as ``compare``, or the weight is not in [0, 1].
    """
    apart = differences(*first), differences(*second)
    effect = mixture_interval(*apart, weight, confidence, kind="paired")
    error, freedom = mixture_error(*apart, weight)
    return _judged(effect, error, freedom, rope)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's step-down adjustment of ``p_values [m]``; the result is in the same order.

    Rejecting where the adjusted p is below alpha keeps the chance of any false rejection in the
    family at most alpha (Holm 1979).

    Raises:
        ValueError: a p value is not in [0, 1].
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p values must be numbers in [0, 1], in one dimension.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    scaled = np.arange(len(p), 0, -1) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def holm_levels(p_values: ArrayLike, level: float) -> np.ndarray:
    """The level at which Holm's procedure tests each of ``p_values [m]``, in the same order.

    A p value below its level is one whose adjusted value is below ``level``. The k-th smallest is
    tested at ``level / (m - k + 1)``; from the first that fails on, all at the level of that one.
    An interval with coverage one minus its level agrees with the verdict.

    Raises:
        ValueError: as ``holm``.
    """
    adjusted, p = holm(p_values), np.asarray(p_values, dtype=np.float64)
    levels = np.empty_like(p)
    rejected = int(np.count_nonzero(adjusted < level))
    order = np.argsort(p, kind="stable")
    levels[order] = level / (len(p) - np.minimum(np.arange(len(p)), rejected))
    return levels


def correct_family(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The same comparisons after Holm's correction: unsure differences become ``undecided``.

    Comparisons without a p value (a single task) stay as they are and do not count.
    """
    tested = [i for i, one in enumerate(comparisons) if not isnan(one.p_value)]
    adjusted = holm([comparisons[i].p_value for i in tested])
    corrected = list(comparisons)
    for i, p in zip(tested, adjusted, strict=True):
        one = comparisons[i]
        lost = one.verdict in ("better", "worse") and p >= 1 - one.effect.confidence
        verdict: Verdict = "undecided" if lost else one.verdict
        corrected[i] = replace(one, verdict=verdict, p_adjusted=float(p))
    return tuple(corrected)


def verdict_of(low: float, high: float, rope: float) -> Verdict:
    """The verdict that an interval of a - b bears; see ``compare``."""
    if low > rope:
        return "better"
    if high < -rope:
        return "worse"
    return "equivalent" if low >= -rope and high <= rope else "undecided"


def _judged(effect: Interval, error: float, freedom: float, rope: float) -> Comparison:
    if not rope >= 0:
        raise ValueError(f"The region of practical equivalence cannot be {rope}.")
    p = _p_value(effect.mean, error, freedom, rope)
    return Comparison(verdict_of(effect.low, effect.high, rope), effect, p, p, rope, effect.caution)


def _p_value(mean: float, error: float, freedom: float, rope: float) -> float:
    if isnan(error):
        return nan
    excess = abs(mean) - rope
    if error == 0:
        return 0.0 if excess > 0 else 1.0
    distance = excess / error
    tail = special.ndtr(-distance) if freedom == inf else special.stdtr(freedom, -distance)
    return min(1.0, 2 * float(tail))
