"""Intervals that include the selection: resample seeds and tasks, and select again each time.

A plain interval treats the selected snapshot as if it had been given. But the selection looked at
finitely many tasks, and training had finitely many seeds: on other ones it would have chosen other
snapshots. Here each resample draws tasks anew, repeats the selection on them, and measures what it
chose on resampled report tasks.

Source of the method: Efron and Tibshirani, "An Introduction to the Bootstrap", sections 13.3
(percentile intervals) and 8 (whole procedures are repeated in each resample).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS
from fsl_sweep.orchestrator.statistics.resampling import (
    DECIMALS,
    ClassTuples,
    Resampling,
    class_tuples,
    seed_weights,
    weighted_means,
)

Choose = Callable[[int, Mapping[str, np.ndarray]], np.ndarray]


@dataclass(frozen=True)
class SelectionBootstrap:
    """What repeating the selection says of a strategy.

    Attributes:
        mean: NovelGen of the choice on the tasks and seeds as they are, in [0, 1].
        low, high: percentile interval of the resampled NovelGen, widened for few seeds; NaN where
            nothing was resampled.
        n: number of seeds.
        standard_error: standard deviation of the resampled NovelGen.
        resamples: how many resamples could be selected from.
        changed: in how many selections of a resample, as a share, another snapshot was chosen.
        confidence: coverage that the interval aims at, in (0, 1).
        over: what was resampled, ``tasks`` or ``classes``; seeds always are.
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
    """The interval of a strategy that selects anew in each resample.

    A resample draws tasks with replacement: one draw for each measure's selection tasks and one
    for the report tasks, the same for all snapshots and seeds, because they have the tasks in
    common. With class tuples, it draws classes in place of tasks. Then it draws seeds; see
    ``seed_weights``.

    Args:
        choose: the strategy. Given the number of a seed and the mean accuracies of its snapshots
            by measure ``[resamples, N]``, the row of the snapshot that it takes in each resample,
            ``[resamples]``.
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
            m: weighted_means(t, draws.weights((m, "selection"), np.shape(t)[1], groups.get(m)))
            for m, t in tables.items()
        }
        reported = weighted_means(
            measured, draws.weights(("novel", "report"), np.shape(measured)[1], groups.get(""))
        )
        codes[number] = choose(number, means)
        values[number] = np.take_along_axis(reported, codes[number][:, None], axis=1)[:, 0]
    over = "tasks" if classes is None else "classes"
    return summarised(
        values, codes, seed_weights(resamples, len(report), seed, ""), confidence, over
    )


def summarised(
    values: np.ndarray, codes: np.ndarray, seeds: np.ndarray, confidence: float, over: str
) -> SelectionBootstrap:
    """The result of resampling.

    Args:
        values: NovelGen of the choices ``[seeds, 1 + resamples]``, the first as it is; NaN where
            nothing could be chosen.
        codes: numbers that tell the choices apart, of the same shape.
        seeds: as from ``seed_weights``.
        confidence: in (0, 1).
        over: what was resampled.

    Raises:
        ValueError: confidence is not in (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}.")
    found = over_seeds(values, seeds)
    found = found[np.isfinite(found)]
    low, high = _interval(found, values[:, 0], confidence) if len(found) > 1 else (nan, nan)
    return SelectionBootstrap(
        mean=float(values[:, 0].mean()),
        low=low,
        high=high,
        n=len(values),
        standard_error=float(np.std(found, ddof=1)) if len(found) > 1 else nan,
        resamples=len(found),
        changed=float(np.mean(codes[:, 1:] != codes[:, :1])),
        confidence=confidence,
        over=over,
        caution=_caution(len(values), len(found), values.shape[1] - 1),
    )


def _interval(found: np.ndarray, seeds: np.ndarray, confidence: float) -> tuple[float, float]:
    """Percentiles, widened about the median as Student's t is wider than the normal.

    Percentiles of a mean over 3 seeds are far too narrow, because their spread is itself known
    from 3 seeds. Degrees of freedom are Welch's for the sum of two variances: the seeds' with one
    less than there are seeds, and the rest, from many tasks, with very many.
    """
    tails = [(1 - confidence) / 2, 0.5, (1 + confidence) / 2]
    low, middle, high = np.quantile(found, tails).tolist()
    wider = 1.0
    between = float(np.var(seeds, ddof=1)) / len(seeds) if len(seeds) > 1 else 0.0
    if between > 0:
        freedom = (len(seeds) - 1) * max(1.0, float(np.var(found, ddof=1)) / between) ** 2
        wider = float(special.stdtrit(freedom, tails[2]) / special.ndtri(tails[2]))
    return middle - wider * (middle - low), middle + wider * (high - middle)


def over_seeds(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """NovelGen of each resample of tasks and seeds, ``[resamples]``; see ``summarised``."""
    return np.round((seeds * values[:, 1:].T).sum(axis=1), DECIMALS)


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
    # The tasks of both sets decide together which draws of classes can be used.
    return found | {"": class_tuples("novel", report, *novel)}


def _caution(seeds: int, found: int, asked: int) -> str | None:
    if seeds == 1:
        return "one seed alone: how much training again would change is not in it"
    if found < asked:
        return f"in {asked - found} of {asked} resamples nothing could be chosen"
    return f"only {seeds} seeds" if seeds < FEW_SEEDS else None
