"""Intervals that include the selection: resample tasks, select again each time, and add seeds.

A plain interval treats the selected snapshot as given, although on other tasks another one would
have been selected. Here each resample draws new tasks, repeats the selection on them, and measures
the choice on resampled report tasks. Seeds are too few to resample; they enter by Student's t.

Sources: Efron and Tibshirani, "An Introduction to the Bootstrap", sections 13.3 (percentile
intervals) and 8 (whole procedures are repeated in each resample). Graybill and Wang, "Confidence
Intervals on Nonnegative Linear Combinations of Variances" (1980), for parts that add up in
quadrature, each with its own quantile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.class_draws import class_groups
from fsl_sweep.orchestrator.statistics.intervals import (
    FEW_SEEDS,
    check_confidence,
    quantile,
    standard_error,
)
from fsl_sweep.orchestrator.statistics.resampling import Resampling
from fsl_sweep.orchestrator.statistics.ties import comparable, weighted_means

Choose = Callable[[int, Mapping[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class SelectionBootstrap:
    """A strategy's NovelGen, with the selection repeated.

    Attributes:
        mean: NovelGen of the choice without resampling, in [0, 1].
        low, high: the interval, about the mean and never narrower than the plain one over seeds;
            NaN if nothing was resampled. With one seed it is the percentile interval of the
            resampled NovelGen, stretched to contain the mean.
        n: number of seeds.
        standard_error: of the mean, over tasks with the selection repeated and over seeds.
        resamples: how many resamples could be selected from.
        changed: share of the repeated selections that chose another snapshot.
        confidence: coverage that the interval aims at, in (0, 1).
        over: what was resampled: ``tasks``, or ``classes`` for tasks and classes.
        caution: why not to trust it, or None.
    """

    mean: float
    low: float
    high: float
    n: int
    standard_error: float
    resamples: int
    changed: float
    confidence: float
    over: str
    caution: str | None


def selection_bootstrap(
    choose: Choose,
    selection: Sequence[Mapping[str, ArrayLike]],
    report: Sequence[ArrayLike],
    *,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    classes: Mapping[tuple[str, str], ArrayLike] | None = None,
) -> SelectionBootstrap:
    """Return the interval of a strategy that selects again in each resample.

    A resample draws tasks with replacement: one draw for each measure's selection tasks and one
    for the report tasks, the same for all snapshots and seeds, because they have the tasks in
    common. With class tuples, it draws classes as well. Seeds are not resampled: how far
    their mean lies from that of infinitely many seeds is bounded by Student's t.

    Args:
        choose: the strategy. From the number of a seed and the mean accuracies of its snapshots
            by measure ``[resamples + 1, N]``, rounded by ``ties.comparable``, it returns the
            position of the snapshot that it takes in each resample, ``[resamples + 1]``. The
            first row is not a resample.
        selection: for each seed, by measure, accuracies on selection tasks ``[N, tasks]``. All
            seeds have their tasks in common; N may differ.
        report: for each seed, novel accuracies on report tasks ``[N, tasks]``.
        resamples: at least 2.
        seed: of the resampling; equal arguments give equal results, on any machine.
        confidence: in (0, 1).
        classes: to resample classes, class tuples ``[tasks, ways]`` by measure and task set, such
            as ``("novel", "report")``. Tasks of one measure share one draw of classes.

    Raises:
        ValueError: shapes do not fit, or an argument is out of its range.
    """
    draws, groups = Resampling(resamples, seed), class_groups(classes)

    def means(table: ArrayLike, name: tuple[str, str]) -> np.ndarray:
        resampled = weighted_means(table, draws.weights(name, np.shape(table)[1]))
        return resampled + draws.shifts(table, groups[name]) if name in groups else resampled

    values = np.empty((len(report), resamples + 1))
    codes = np.empty((len(report), resamples + 1), dtype=np.int64)
    for number, (tables, measured) in enumerate(zip(selection, report, strict=True)):
        seen = {m: comparable(means(t, (m, "selection"))) for m, t in tables.items()}
        codes[number] = choose(number, seen)
        reported = means(measured, ("novel", "report"))
        values[number] = np.take_along_axis(reported, codes[number][:, None], axis=1)[:, 0]
    return summarised(values, codes, "classes" if classes else "tasks", confidence)


def summarised(
    values: np.ndarray, codes: np.ndarray, over: str, confidence: float = 0.95
) -> SelectionBootstrap:
    """Return the result of resampling.

    Args:
        values: NovelGen of the choices ``[seeds, 1 + resamples]``, the first not resampled; NaN
            if nothing could be chosen.
        codes: numbers that identify the choices, of the same shape.
        over: what was resampled, ``tasks`` or ``classes``.
        confidence: in (0, 1).

    Raises:
        ValueError: confidence is not in (0, 1).
    """
    check_confidence(confidence)
    means = values[:, 1:].mean(axis=0)
    means = means[np.isfinite(means)]
    low = high = error = nan
    if len(means) > 1:
        low, high = _interval(means, values[:, 0], confidence)
        seeds = standard_error(values[:, 0]) if len(values) > 1 else 0.0
        error = sqrt(float(np.var(means, ddof=1)) + seeds**2)
    return SelectionBootstrap(
        mean=float(values[:, 0].mean()),
        low=low,
        high=high,
        n=len(values),
        standard_error=error,
        resamples=len(means),
        changed=float(np.mean(codes[:, 1:] != codes[:, :1])),
        confidence=confidence,
        over=over,
        caution=_caution(len(values), len(means), values.shape[1] - 1),
    )


def _interval(means: np.ndarray, seeds: np.ndarray, confidence: float) -> tuple[float, float]:
    """Add half-widths of tasks and of seeds in quadrature, each with its own quantile.

    Two standard errors that are known unequally well have no common quantile: that of the seeds is
    known from a few values, that of tasks from very many. With Welch's degrees of freedom for
    their sum, the interval of two seeds is much too narrow if seeds differ.

    Args:
        means: over seeds in each resample of tasks ``[R]``.
        seeds: NovelGen of each seed without resampling ``[S]``.
        confidence: in (0, 1).
    """
    mean = float(seeds.mean())
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    again = quantile(len(seeds), confidence) * standard_error(seeds) if len(seeds) > 1 else 0.0
    below, above = max(0.0, mean - low), max(0.0, high - mean)
    return mean - sqrt(below**2 + again**2), mean + sqrt(above**2 + again**2)


def _caution(seeds: int, chosen: int, resamples: int) -> str | None:
    if seeds == 1:
        return "one seed alone: how much training again would change is not in it"
    if chosen < resamples:
        return f"in {resamples - chosen} of {resamples} resamples nothing could be chosen"
    return f"only {seeds} seeds" if seeds < FEW_SEEDS else None
