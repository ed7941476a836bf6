"""Confidence intervals of a mean, over tasks, over seeds or over benchmarks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

Kind = Literal["closed", "open", "paired", "seeds", "benchmarks", "mixture"]

NORMAL_FROM = 100
FEW_TASKS = 30
FEW_SEEDS = 5
SATURATED = 0.98

IDENTICAL = "replicates are identical: they are not a sample of seeds"


@dataclass(frozen=True)
class Interval:
    """A mean and its two-sided confidence interval.

    Attributes:
        mean: sample mean, in the units of the values.
        low, high: ends of the interval; NaN for fewer than two values. They are not clipped to
            [0, 1], because a clipped interval hides that its approximation has failed.
        n: number of values; 0 if only the mean is known.
        confidence: coverage that the interval aims at, in (0, 1).
        kind: what it is an interval over. ``closed``: tasks sampled with replacement from one set
            of examples, so that it says nothing about other examples; ``open``: tasks without a
            common example; ``paired``: differences on common tasks; ``seeds``: replicates;
            ``benchmarks``; ``mixture``: tasks of two distributions.
        caution: why not to trust it, or None.
    """

    mean: float
    low: float
    high: float
    n: int
    confidence: float
    kind: Kind
    caution: str | None


def mean_interval(
    values: ArrayLike, confidence: float = 0.95, *, kind: Kind = "closed"
) -> Interval:
    """Return the mean of ``values [n]`` with its interval: mean +- quantile * sd / sqrt(n).

    The standard deviation has ddof = 1; the quantile is Student's t with n - 1 degrees of freedom
    below 100 values and the normal one from 100.

    Source: "Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning",
    section 2, which distinguishes ``closed`` and ``open``.

    Raises:
        ValueError: no values, not one-dimensional, not finite, or confidence outside (0, 1).
    """
    data = checked(values)
    half = quantile(len(data), confidence) * standard_error(data)
    mean = float(np.mean(data))
    return Interval(
        mean, mean - half, mean + half, len(data), confidence, kind, _caution(data, kind)
    )


def mean_alone(mean: float, confidence: float = 0.95) -> Interval:
    """Return a mean of unknown values, which has no interval."""
    return Interval(mean, nan, nan, 0, confidence, "closed", "only the mean is known")


def mean_of_identical(mean: float, n: int, confidence: float = 0.95) -> Interval:
    """Return the mean of ``n`` identical replicates, which are no sample: without an interval."""
    return Interval(mean, nan, nan, n, confidence, "seeds", IDENTICAL)


def paired_interval(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the interval of the mean of ``a - b``, both ``[n]`` on the same tasks in order.

    Source: "Oops, I Sampled it Again", section on paired tests.

    Raises:
        ValueError: as ``mean_interval``, or the lengths differ.
    """
    return mean_interval(differences(a, b), confidence, kind="paired")


def mixture_interval(
    first: ArrayLike, second: ArrayLike, weight: float, confidence: float = 0.95
) -> Interval:
    """Return the interval of ``weight * mean(first) + (1 - weight) * mean(second)``.

    The two are accuracies, or paired differences of accuracies, on independent tasks of two
    distributions; ``n`` is the number of all tasks that have a weight.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).

    Raises:
        ValueError: as ``mean_interval``, or the weight is not in [0, 1].
    """
    return weighted_interval(mixed(first, second, weight), confidence, "mixture")


def weighted_interval(
    parts: Sequence[tuple[float, np.ndarray]], confidence: float, kind: Kind
) -> Interval:
    """Return the interval of the sum of ``weight * mean(values [n])`` over independent samples.

    Weights may be negative; errors and degrees of freedom are those of ``weighted_error``.
    """
    mean = sum(weight * float(np.mean(values)) for weight, values in parts)
    error, freedom = weighted_error(parts)
    half = error * _upper(freedom, confidence)
    caution = next((c for _, values in parts if (c := _caution(values, kind))), None)
    n = sum(len(values) for _, values in parts)
    return Interval(mean, mean - half, mean + half, n, confidence, kind, caution)


def weighted_error(parts: Sequence[tuple[float, np.ndarray]]) -> tuple[float, float]:
    """Return the standard error of ``weighted_interval`` and its degrees of freedom.

    The samples are independent, so that their variances add: v1 = (weight sd1)^2 / n1, v2 alike.
    Degrees of freedom are Welch's, (v1 + v2)^2 / (v1^2 / (n1 - 1) + v2^2 / (n2 - 1)) (Welch 1947,
    Satterthwaite 1946), and infinite (the normal distribution) if each sample has 100 values or
    more. The error is NaN if one of them is a single value.
    """
    variances = [(weight * standard_error(values)) ** 2 for weight, values in parts]
    counts, total = [len(values) for _, values in parts], sum(variances)
    if min(counts) >= NORMAL_FROM or not total > 0:
        return sqrt(total), inf
    terms = (v**2 / (n - 1) for v, n in zip(variances, counts, strict=True))
    return sqrt(total), total**2 / sum(terms)


def mixed(first: ArrayLike, second: ArrayLike, weight: float) -> list[tuple[float, np.ndarray]]:
    """Return the samples of a mixture that have a weight, with it. Raises as its interval."""
    if not 0 <= weight <= 1:
        raise ValueError(f"The weight of a mixture lies between 0 and 1, not {weight}.")
    return [(w, checked(values)) for w, values in ((weight, first), (1 - weight, second)) if w > 0]


def checked(values: ArrayLike) -> np.ndarray:
    """Return ``values`` as float64 ``[n]``. Raises ValueError if they have no interval."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or data.size == 0:
        raise ValueError(f"One or more values in one dimension are needed, not {data.shape}.")
    if not np.isfinite(data).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(data))} of the values are not finite.")
    return data


def check_confidence(confidence: float) -> None:
    """Raise ValueError unless a confidence lies in (0, 1)."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}.")


def differences(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Return ``a - b`` on common tasks, float64 ``[n]``. Raises as ``paired_interval``."""
    first, second = checked(a), checked(b)
    if first.shape != second.shape:
        raise ValueError(
            f"Paired values need common tasks, but there are {len(first)} and {len(second)}."
        )
    return first - second


def standard_error(data: np.ndarray) -> float:
    """Return the standard error of the mean of ``data [n]`` (ddof = 1); NaN for one value."""
    return float(np.std(data, ddof=1)) / sqrt(len(data)) if len(data) > 1 else nan


def quantile(n: int, confidence: float) -> float:
    """Return the half-width of an interval of n values in standard errors; NaN for n = 1.

    Raises:
        ValueError: confidence is not in (0, 1).
    """
    half = _upper(inf if n >= NORMAL_FROM else max(n - 1, 1), confidence)
    return nan if n == 1 else half


def _upper(freedom: float, confidence: float) -> float:
    check_confidence(confidence)
    upper = (1 + confidence) / 2
    return float(special.ndtri(upper) if freedom == inf else special.stdtrit(freedom, upper))


def _caution(data: np.ndarray, kind: Kind) -> str | None:
    several = kind in ("seeds", "benchmarks")
    few, noun = (FEW_SEEDS, kind[:-1]) if several else (FEW_TASKS, "task")
    if len(data) == 1:
        return f"one {noun} alone has no interval"
    if len(data) < few:
        return f"only {len(data)} {noun}s"
    if kind in ("closed", "open") and float(np.mean(data)) >= SATURATED:
        return "saturated near 100 %"
    if kind != "paired" and np.ptp(data) == 0:
        return f"all {noun}s have the same value"
    return None
