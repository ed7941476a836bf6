"""Confidence intervals of a mean, over tasks or over seeds."""

from dataclasses import dataclass
from math import nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

Kind = Literal["closed", "open", "paired", "seeds"]

NORMAL_FROM = 100
FEW_TASKS = 30
FEW_SEEDS = 5
SATURATED = 0.98


@dataclass(frozen=True)
class Interval:
    """A mean and its two-sided confidence interval.

    Attributes:
        mean: sample mean, in the units of the values.
        low, high: ends of the interval; NaN where one value alone was given. They are not clipped
            to [0, 1], because a clipped interval hides that its approximation has failed.
        n: number of values.
        confidence: coverage that the interval aims at, in (0, 1).
        kind: what it is an interval over. ``closed``: tasks sampled with replacement from one set
            of examples, so that it says nothing about other examples; ``open``: tasks without a
            common example; ``paired``: differences on common tasks; ``seeds``: replicates.
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
    """The mean of ``values [n]`` with its interval: mean +- quantile * sd / sqrt(n).

    The standard deviation has ddof = 1; the quantile is Student's t with n - 1 degrees of freedom
    below 100 values and the normal one from 100.

    Source: "Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning",
    section 2, where ``closed`` and ``open`` are told apart.

    Raises:
        ValueError: no values, not one-dimensional, not finite, or confidence outside (0, 1).
    """
    data = checked(values)
    half = quantile(len(data), confidence) * standard_error(data)
    mean = float(np.mean(data))
    return Interval(
        mean, mean - half, mean + half, len(data), confidence, kind, _caution(data, kind)
    )


def paired_interval(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Interval:
    """The interval of the mean of ``a - b``, both ``[n]`` on the same tasks in the same order.

    Source: "Oops, I Sampled it Again", section on paired tests: the variance that tasks share
    cancels, so that smaller differences show.

    Raises:
        ValueError: as ``mean_interval``, or the lengths differ.
    """
    first, second = checked(a), checked(b)
    if first.shape != second.shape:
        raise ValueError(
            f"Paired values need common tasks, but there are {len(first)} and {len(second)}."
        )
    return mean_interval(first - second, confidence, kind="paired")


def checked(values: ArrayLike) -> np.ndarray:
    """``values`` as float64 ``[n]``. Raises ValueError where no interval can be made of them."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or data.size == 0:
        raise ValueError(f"One or more values in one dimension are needed, not {data.shape}.")
    if not np.isfinite(data).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(data))} of the values are not finite.")
    return data


def standard_error(data: np.ndarray) -> float:
    """Standard error of the mean of ``data [n]`` (ddof = 1); NaN for one value."""
    return float(np.std(data, ddof=1)) / sqrt(len(data)) if len(data) > 1 else nan


def quantile(n: int, confidence: float) -> float:
    """Half-width of a ``confidence`` interval of n values, in standard errors; NaN for n = 1.

    Raises:
        ValueError: confidence is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}.")
    if n == 1:
        return nan
    upper = (1 + confidence) / 2
    return float(special.ndtri(upper) if n >= NORMAL_FROM else special.stdtrit(n - 1, upper))


def _caution(data: np.ndarray, kind: Kind) -> str | None:
    few, noun = (FEW_SEEDS, "seed") if kind == "seeds" else (FEW_TASKS, "task")
    if len(data) == 1:
        return f"one {noun} alone has no interval"
    if len(data) < few:
        return f"only {len(data)} {noun}s"
    if kind in ("closed", "open") and float(np.mean(data)) >= SATURATED:
        return "saturated near 100 %"
    if kind != "paired" and np.ptp(data) == 0:
        return f"all {noun}s have the same value"
    return None
