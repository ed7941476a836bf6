"""Which of two is better: single tests on common tasks, and families of tests after Holm.

A verdict on ``a`` is one of two kinds. About trained snapshots it is paired over common tasks
(``compare``) and says nothing about training again; about methods it is over seeds
(``over_seeds``). Both are a ``Comparison``, and so is their correction for a ``family``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import (
    NORMAL_FROM,
    Interval,
    differences,
    mixed,
    paired_interval,
    standard_error,
    weighted_error,
    weighted_interval,
)

Verdict = Literal["better", "worse", "equivalent", "undecided"]
_SWAPPED: dict[Verdict, Verdict] = {"better": "worse", "worse": "better"}

LEVEL = 0.05
"""The chance of any false verdict in a family."""


@dataclass(frozen=True)
class Comparison:
    """The verdict on a against b.

    Attributes:
        effect: a - b with its interval, over tasks, seeds or benchmarks.
        p_value: two-sided, of the hypothesis that the true difference lies within the rope (for a
            rope of 0: that there is none); NaN for a single task or seed.
        p_adjusted: the same after the correction over its family.
        verdict: of a: ``better``, ``worse``, ``equivalent`` (surely within the rope) or
            ``undecided``.
        rope: region of practical equivalence: differences up to this do not matter.
        caution: why not to trust the verdict, or why there is none; None otherwise.
        confidence: 1 - the chance of a false verdict anywhere in the family, in (0, 1);
            ``effect.confidence`` is that of this interval.
        seeds: their numbers, of a and of b; None unless the comparison is over seeds.
    """

    effect: Interval
    p_value: float
    p_adjusted: float
    verdict: Verdict
    rope: float = 0.0
    caution: str | None = None
    confidence: float = 0.95
    seeds: tuple[int, int] | None = None

    def swapped(self) -> "Comparison":
        """Return the same of b against a."""
        mean, low, high = -self.effect.mean, -self.effect.high, -self.effect.low
        effect = replace(self.effect, mean=mean, low=low, high=high)
        return replace(self, effect=effect, verdict=_SWAPPED.get(self.verdict, self.verdict))

    def undecided(self, *reasons: str | None) -> "Comparison":
        """Return it without a verdict for these reasons; as it is if all of them are None."""
        if not any(reasons):
            return self
        caution = "; ".join(filter(None, (self.caution, *reasons)))
        return replace(self, verdict="undecided", caution=caution)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as they stand in JSON: over seeds, the effect is three numbers."""
        levels = {"confidence": self.effect.confidence, "family_confidence": self.confidence}
        names = ("verdict", "p_value", "p_adjusted", "rope", "caution")
        known = levels | {name: getattr(self, name) for name in names}
        if self.seeds is None:
            return known | {"effect": self.effect}
        ends = {"effect": self.effect.mean, "low": self.effect.low, "high": self.effect.high}
        return known | ends | {"seeds": self.seeds}


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
    means, independent of each other (see ``weighted_error``). Verdicts are as in ``compare``.

    Raises:
        ValueError: as ``compare``, or the weight is not in [0, 1].
    """
    parts = mixed(differences(*first), differences(*second), weight)
    effect = weighted_interval(parts, confidence, "paired")
    return _judged(effect, *weighted_error(parts), rope)


def family(
    comparisons: Sequence[Comparison],
    intervals: Sequence[Callable[[float], Interval]] | None = None,
    *,
    absent: int = 0,
    level: float = LEVEL,
) -> tuple[Comparison, ...]:
    """Correct single tests by Holm's procedure: unsure differences become ``undecided``.

    Tests without a p value stay as they are and do not count. To test the others against the best,
    correct all pairs: the best was found by these same numbers.

    Args:
        comparisons: single tests, each as if it were the only one.
        intervals: the interval of each at a confidence. Then every effect has the interval at the
            level at which Holm's procedure tests it, so that it agrees with the verdict. That
            several are equivalent is claimed of all together: there it is Bonferroni's level.
        absent: tests that belong to the family and could not be made; each has at most a p of 1.
        level: the chance of any false verdict, in (0, 1).

    Raises:
        ValueError: a p value is not in [0, 1].
    """
    tested = [i for i, single in enumerate(comparisons) if not isnan(single.p_value)]
    p_values = [*(comparisons[i].p_value for i in tested), *[1.0] * absent]
    adjusted = dict(zip(tested, holm(p_values).tolist(), strict=False))
    levels = dict(zip(tested, holm_levels(p_values, level).tolist(), strict=False))
    corrected = list(comparisons)
    for i, single in enumerate(comparisons):
        p, effect, verdict = adjusted.get(i, nan), single.effect, single.verdict
        if verdict in ("better", "worse") and p >= level:
            verdict = "undecided"
        if intervals is not None:
            equal = verdict == "equivalent"
            at = level / len(p_values) if equal else levels.get(i, level)
            effect = intervals[i](1 - at)
            if equal:
                verdict = verdict_of(effect.low, effect.high, single.rope)
        corrected[i] = replace(single, effect=effect, p_adjusted=p, verdict=verdict)
    return tuple(corrected)


def holm(p_values: ArrayLike) -> np.ndarray:
    """Return Holm's step-down adjustment of ``p_values [m]``, in the same order.

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
    """Return the level at which Holm's procedure tests each of ``p_values [m]``, in order.

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


def verdict_of(low: float, high: float, rope: float) -> Verdict:
    """Return the verdict that an interval of a - b bears; see ``compare``."""
    if low > rope:
        return "better"
    if high < -rope:
        return "worse"
    return "equivalent" if low >= -rope and high <= rope else "undecided"


def check_rope(rope: float) -> None:
    """Raise ValueError unless a region of practical equivalence is 0 or more."""
    if not rope >= 0:
        raise ValueError(f"The region of practical equivalence cannot be {rope}.")


def _judged(effect: Interval, error: float, freedom: float, rope: float) -> Comparison:
    check_rope(rope)
    p = _p_value(effect.mean, error, freedom, rope)
    verdict = verdict_of(effect.low, effect.high, rope)
    return Comparison(effect, p, p, verdict, rope, effect.caution, effect.confidence)


def _p_value(mean: float, error: float, freedom: float, rope: float) -> float:
    if isnan(error):
        return nan
    excess = abs(mean) - rope
    if error == 0:
        return 0.0 if excess > 0 else 1.0
    distance = excess / error
    tail = special.ndtr(-distance) if freedom == inf else special.stdtr(freedom, -distance)
    return min(1.0, 2 * float(tail))
