"""Intervals that include the selection: resample tasks, select again each time, and add seeds.

A plain interval treats the selected snapshot as if it had been given. But the selection read
finitely many tasks, and training had finitely many seeds: on other ones it would have chosen other
snapshots. Here each resample draws new tasks, repeats the selection on them, and measures what it
chose on resampled report tasks. Seeds are too few to be resampled; they come in by Student's t.

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

from fsl_sweep.orchestrator.statistics.class_draws import ClassTuples, class_tuples
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS, quantile, standard_error
from fsl_sweep.orchestrator.statistics.resampling import Resampling
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.statistics.weighted import weighted_means

Choose = Callable[[int, Mapping[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class SelectionBootstrap:
    """A strategy's NovelGen, with the selection repeated.

    Attributes:
        mean: NovelGen of the choice without resampling, in [0, 1].
        low, high: the interval, about the mean and never narrower than the plain one over seeds;
            NaN where nothing was resampled. With one seed it is the percentile interval of the
            resampled NovelGen, stretched to hold the mean.
        n: number of seeds.
        standard_error: of the mean, over tasks with the selection repeated and over seeds.
        resamples: how many resamples could be selected from.
        changed: in how many selections of a resample, as a share, another snapshot was chosen.
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
    classes: Mapping[str, ArrayLike] | None = None,
    report_classes: ArrayLike | None = None,
) -> SelectionBootstrap:
    """The interval of a strategy that selects again in each resample.

    A resample draws tasks with replacement: one draw for each measure's selection tasks and one
    for the report tasks, the same for all snapshots and seeds, because they have the tasks in
    common. With class tuples, it draws classes as well. Seeds are not resampled: how far
    their mean lies from that of infinitely many seeds is bounded by Student's t.

    Args:
        choose: the strategy. Given the number of a seed and the mean accuracies of its snapshots
            by measure ``[resamples + 1, N]``, as numbers that may be compared (see ``ties``), the
            position of the snapshot that it takes in each resample, ``[resamples + 1]``. The first
            row is not a resample.
        selection: for each seed, by measure, accuracies on selection tasks ``[N, tasks]``. All
            seeds have their tasks in common; N may differ.
        report: for each seed, novel accuracies on report tasks ``[N, tasks]``.
        resamples: how many, at least 2.
        seed: of the resampling; equal arguments give equal results, on any machine.
        confidence: in (0, 1).
        classes: class tuples of the selection tasks by measure, int ``[tasks, ways]``; needed for
            each measure to resample classes.
        report_classes: the same of the report tasks; novel selection and report tasks share one
            draw of classes.

    Raises:
        ValueError: shapes do not fit, or an argument is out of its range.
    """
    draws = Resampling(resamples, seed)
    groups = _class_groups(classes, report_classes)
    values = np.empty((len(report), resamples + 1))
    codes = np.empty((len(report), resamples + 1), dtype=np.int64)
    for number, (tables, measured) in enumerate(zip(selection, report, strict=True)):
        means = {
            m: comparable(_resampled(t, draws, (m, "selection"), groups.get(m)))
            for m, t in tables.items()
        }
        reported = _resampled(measured, draws, ("novel", "report"), groups.get(""))
        codes[number] = choose(number, means)
        values[number] = np.take_along_axis(reported, codes[number][:, None], axis=1)[:, 0]
    return summarised(values, codes, confidence, "tasks" if classes is None else "classes")


def summarised(
    values: np.ndarray, codes: np.ndarray, confidence: float, over: str
) -> SelectionBootstrap:
    """The result of resampling.

    Args:
        values: NovelGen of the choices ``[seeds, 1 + resamples]``, the first not resampled; NaN
            where nothing could be chosen.
        codes: numbers that identify the choices, of the same shape.
        confidence: in (0, 1).
        over: what was resampled.

    Raises:
        ValueError: confidence is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}.")
    found = values[:, 1:].mean(axis=0)
    found = found[np.isfinite(found)]
    known = len(found) > 1
    low, high = _interval(found, values[:, 0], confidence) if known else (nan, nan)
    return SelectionBootstrap(
        mean=float(values[:, 0].mean()),
        low=low,
        high=high,
        n=len(values),
        standard_error=_error(found, values[:, 0]) if known else nan,
        resamples=len(found),
        changed=float(np.mean(codes[:, 1:] != codes[:, :1])),
        confidence=confidence,
        over=over,
        caution=_caution(len(values), len(found), values.shape[1] - 1),
    )


def _interval(found: np.ndarray, seeds: np.ndarray, confidence: float) -> tuple[float, float]:
    """Half-widths of tasks and of seeds in quadrature, each with its own quantile.

    Two standard errors that are known unequally well have no common quantile: that of the seeds is
    known from a few values, that of tasks from very many. With Welch's degrees of freedom for
    their sum, the interval of two seeds is much too narrow where seeds differ.

    Args:
        found: mean over seeds in each resample of tasks ``[R]``.
        seeds: NovelGen of each seed without resampling ``[S]``.
        confidence: in (0, 1).
    """
    mean = float(seeds.mean())
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    again = quantile(len(seeds), confidence) * standard_error(seeds) if len(seeds) > 1 else 0.0
    below, above = max(0.0, mean - low), max(0.0, high - mean)
    return mean - sqrt(below**2 + again**2), mean + sqrt(above**2 + again**2)


def _error(found: np.ndarray, seeds: np.ndarray) -> float:
    again = standard_error(seeds) if len(seeds) > 1 else 0.0
    return sqrt(float(np.var(found, ddof=1)) + again**2)


def over_seeds(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """NovelGen of each resample of tasks and seeds ``[resamples]``, to compare methods by.

    Args:
        values: as in ``summarised``.
        seeds: share of each seed ``[resamples, seeds]``, as from ``seed_weights``.
    """
    return comparable((seeds * values[:, 1:].T).sum(axis=1))


def _resampled(
    table: ArrayLike, draws: Resampling, name: tuple[str, str], classes: ClassTuples | None
) -> np.ndarray:
    """Means of the rows of ``table [N, tasks]`` in each resample, ``[resamples + 1, N]``."""
    means = weighted_means(table, draws.weights(name, np.shape(table)[1]))
    return means if classes is None else means + draws.shifts(table, classes)


def _class_groups(
    classes: Mapping[str, ArrayLike] | None, report: ArrayLike | None
) -> dict[str, ClassTuples]:
    if classes is None and report is None:
        return {}
    if classes is None or report is None:
        raise ValueError("To resample classes, give those of the selection and the report tasks.")
    novel = [classes["novel"]] if "novel" in classes else []
    found = {m: class_tuples(m, t) for m, t in classes.items() if m != "novel"}
    if novel:
        found["novel"] = class_tuples("novel", novel[0], report)
    # The classes of the group are those of both sets.
    return found | {"": class_tuples("novel", report, *novel)}


def _caution(seeds: int, found: int, asked: int) -> str | None:
    if seeds == 1:
        return "one seed alone: how much training again would change is not in it"
    if found < asked:
        return f"in {asked - found} of {asked} resamples nothing could be chosen"
    return f"only {seeds} seeds" if seeds < FEW_SEEDS else None
