"""How far a snapshot's accuracy depends on which classes, or which examples, were drawn."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import check_confidence

FEW_SETS = 30


@dataclass(frozen=True)
class Spread:
    """The accuracy of one snapshot over random sets of classes or of examples.

    Attributes:
        means: of each set, float64 ``[S]``: what a histogram shows.
        mean: over the sets.
        observed: standard deviation of ``means``, with what the tasks of each set add.
        deviation: standard deviation over sets without it; 0 where tasks explain more than all.
        low, high: its interval.
        confidence: coverage that it aims at, in (0, 1).
        caution: why not to trust it, or None.
    """

    means: np.ndarray
    mean: float
    observed: float
    deviation: float
    low: float
    high: float
    confidence: float
    caution: str | None


def novel_set_variance(accuracies: ArrayLike, confidence: float = 0.95) -> Spread:
    """Return the spread of NovelGen over random sets of novel classes.

    Args:
        accuracies: ``[S, T]`` in T tasks of each of S random sets, the tasks drawn independently.
        confidence: in (0, 1). The interval takes the sets' means to be normal.

    Raises:
        ValueError: there are fewer than 2 sets or tasks, values are not finite, or confidence is
            not in (0, 1).

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.6 and figure 6, which shows
    ``observed``.
    """
    return _spread(accuracies, confidence)


def example_set_variance(accuracies: ArrayLike, confidence: float = 0.95) -> Spread:
    """Return the spread of accuracy over random finite sets of examples of the same classes.

    Arguments, results and exceptions as of ``novel_set_variance``.

    Source: "Lessons from Chasing Few-Shot Learning Benchmarks", appendix D and figure 8.
    """
    return _spread(accuracies, confidence)


def _spread(accuracies: ArrayLike, confidence: float) -> Spread:
    table = np.asarray(accuracies, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(
            f"Finite accuracies [sets, tasks], 2 or more of each, are needed, not {table.shape}."
        )
    check_confidence(confidence)
    sets, tasks = table.shape
    means = table.mean(axis=1)
    observed, of_tasks = float(np.var(means, ddof=1)), float(np.var(table, axis=1, ddof=1).mean())
    # Of normal means, (S - 1) observed / variance is chi-squared.
    most, least = special.chdtri(sets - 1, [(1 - confidence) / 2, (1 + confidence) / 2])
    low, middle, high = (
        sqrt(max(0.0, factor * observed - of_tasks / tasks))
        for factor in ((sets - 1) / most, 1.0, (sets - 1) / least)
    )
    few = f"only {sets} sets" if sets < FEW_SETS else None
    noise = "tasks explain all of it: draw more of them" if middle == 0 else None
    return Spread(
        means, float(means.mean()), sqrt(observed), middle, low, high, confidence, few or noise
    )
