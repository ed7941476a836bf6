"""Strategies with the uncertainty of their selection: every cell of the table, resampled."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from fsl_sweep.orchestrator.records.measures import Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.selection.candidates import candidates_of
from fsl_sweep.orchestrator.selection.choices import single_selector
from fsl_sweep.orchestrator.selection.completeness import FoldTrials, replicates_of
from fsl_sweep.orchestrator.selection.replicate import ResampledReplicate, ResampledTrial
from fsl_sweep.orchestrator.selection.results import Selected, Selection, Strategy, identical
from fsl_sweep.orchestrator.selectors import snapshot_selector
from fsl_sweep.orchestrator.selectors.base import NONE
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.statistics.bootstrap import SelectionBootstrap, summarised
from fsl_sweep.orchestrator.statistics.class_draws import class_groups
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL
from fsl_sweep.orchestrator.statistics.resampling import Resampling, seed_weights

ClassLists = Mapping[tuple[Measure, TaskSet], ArrayLike]
RESAMPLES, FEWER = 1000, 400
QUICKLY_RESAMPLED = 3000
"""Snapshots of all trials together of which all strategies are resampled in a few seconds."""


def resamples_for(snapshots: int) -> int:
    """Return how many resamples a report makes by default, by the snapshots of all trials.

    The ends of an interval from R resamples vary by about 1.36 / sqrt(R) of its half-width, the
    standard error of a normal's 2.5 % quantile: 4 % with 1,000, which every strategy has where
    there are few snapshots, and 7 % with 400, for the leading strategy of many.
    """
    return RESAMPLES if snapshots <= QUICKLY_RESAMPLED else FEWER


@dataclass(frozen=True)
class ResampledCell:
    """A method under a strategy.

    Attributes:
        method, strategy: which cell.
        seeds: its replicates.
        result: NovelGen with the interval that includes the selection.
        values: NovelGen of the choice in each resample of tasks, float64 ``[seeds, 1 + R]``; the
            first is not a resample. NaN if nothing could be chosen.
        weights: share of each seed in each resample of seeds, float64 ``[R, seeds]``, for the
            chance to be best; the interval does not resample seeds.
        mixed, mixed_values: the same by the mixture that methods are compared by, if any.
    """

    method: str
    strategy: Strategy
    seeds: tuple[int, ...]
    result: SelectionBootstrap
    values: np.ndarray = field(repr=False, compare=False)
    weights: np.ndarray = field(repr=False, compare=False)
    mixed: SelectionBootstrap | None = None
    mixed_values: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def reported(self) -> np.ndarray:
        """Return what methods are compared by, in each resample of tasks, as ``values``."""
        return self.values if self.mixed_values is None else self.mixed_values


def resample(
    histories: Sequence[TrialHistory],
    selected: Selected,
    *,
    resamples: int | None = None,
    one_by_one: int = 100,
    seed: int = 0,
    classes: ClassLists | None = None,
    apart: Collection[Measure] = (),
) -> tuple[ResampledCell, ...]:
    """Resample tasks, and repeat the selection in each resample.

    One draw of tasks serves all trials, methods and strategies, because they have the tasks in
    common. See ``statistics.selection_bootstrap``. Seeds are drawn separately for each method.

    Args:
        histories: one for each planned trial, as given to ``select``.
        selected: what was selected from them. Incomplete cells have no interval, and neither has
            one with a resample that chooses a snapshot which is not measured on the report tasks,
            nor one whose selector chooses among every snapshot.
        resamples: at least 2; by default as of ``resamples_for``.
        one_by_one: the number for selectors that cannot choose in all resamples at once.
        seed: of the resampling.
        classes: class tuples ``[tasks, ways]`` of the common tasks by measure and task set, to
            resample classes as well. Class folds have other tasks; their classes are not resampled.
        apart: measures whose selection and report tasks have other classes: drawn separately.

    Raises:
        ValueError: there are too few resamples, or class tuples cannot be resampled.
        SealedMeasurement: a selector read what it did not declare.
    """
    if resamples is None:
        resamples = resamples_for(sum(len(trial.epochs) for trial in histories))
    draws, folds = Resampling(resamples, seed), FoldTrials(histories)
    groups = class_groups(classes, apart)
    first = {s.snapshot: snapshot_selector(s.snapshot) for s in selected.strategies}
    second = {s.hyperparameter: single_selector(s.hyperparameter) for s in selected.strategies}
    # What several strategies read is resampled once; of one, only what it may choose.
    alone = len(selected.strategies) == 1
    rows: dict[tuple[str, Strategy], list[_Drawn | None]] = defaultdict(list)
    # Rivals are few: threads of BLAS would only wait for each other.
    with threadpool_limits(1 if alone else None, "blas"):
        for (method, seed), trials in replicates_of(histories).items():
            cells = {s: selected.cell(method, s) for s in selected.strategies}
            chosen = {
                s: choice
                for s, cell in cells.items()
                for choice in cell
                if choice.seed == seed and not second[s.hyperparameter].every_snapshot
            }
            for choice in chosen.values():
                choice.scores("novel")  # which comparisons need: read while the file is open
            crossed = any(strategy.cross_validated for strategy in chosen)
            resampled = {
                t.trial: ResampledTrial(t, draws, groups, folds.of(t) if crossed else ())
                for t in trials
            }
            replicates: dict[tuple[str, ...], ResampledReplicate] = {}
            for s in chosen:
                among = folds if s.cross_validated else None
                names = tuple(t.trial for t in candidates_of(trials, first[s.snapshot], among))
                rivals = [resampled[name] for name in names]
                if names not in replicates:
                    replicates[names] = ResampledReplicate(rivals, draws.resamples, one_by_one)
                select = replicates[names].select_highest if alone else replicates[names].select
                picked, at = select(first[s.snapshot], second[s.hyperparameter])
                rows[method, s].append(_drawn(rivals, picked, at, selected.base_weight))
    over = "classes" if classes else "tasks"
    return tuple(
        _cell(selected.cell(method, s), known, draws, over)
        for method in selected.methods
        for s in selected.strategies
        if (known := [drawn for drawn in rows[method, s] if drawn is not None])
        and len(known) == len(rows[method, s])
    )


_Drawn = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""One seed's choices in each resample: numbers that identify them, their NovelGen, and mixture."""


def _drawn(
    trials: Sequence[ResampledTrial], chosen: np.ndarray, at: np.ndarray, base_weight: float | None
) -> _Drawn | None:
    """Return what one seed chose; None unless every choice is measured on the report tasks.

    The others would be a sample of the choices that happen to be measured.
    """
    rows_of = [np.flatnonzero(chosen == number) for number in range(len(trials))]
    read: tuple[Measure, ...] = ("novel",) if base_weight is None else ("novel", "base")
    for trial, rows in zip(trials, rows_of, strict=True):
        means = [trial.trial.scores[measure, "report"].means for measure in read]
        if not np.isfinite(np.array(means)[:, at[rows]]).all():
            return None
    reported: dict[Measure, np.ndarray] = {}
    for measure in read:
        values = reported[measure] = np.full(len(chosen), np.nan)
        for trial, rows in zip(trials, rows_of, strict=True):
            if len(rows):  # do not read a table that nothing was chosen from
                epochs, which = np.unique(at[rows], return_inverse=True)
                values[rows] = trial.columns(measure, epochs.tolist(), "report")[rows, which]
    codes, novel = np.where(chosen == NONE, NONE, chosen * 2**32 + at), reported["novel"]
    mixture = None if base_weight is None else mixed(base_weight, reported["base"], novel)
    return codes, novel, mixture


def _cell(
    choices: Sequence[Selection], rows: Sequence[_Drawn], draws: Resampling, over: str
) -> ResampledCell:
    codes, values = np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])
    mixtures = [mixture for *_, mixture in rows if mixture is not None]
    reported = np.stack(mixtures) if mixtures else None

    def interval(values: np.ndarray, tasks: Interval) -> SelectionBootstrap:
        bootstrap = summarised(values, codes, over)
        if len(choices) == 1 and choices[0].snapshot.history.draws_nothing:
            return replace(bootstrap, caution=None)
        if not identical(choices):
            return bootstrap
        # Only tasks vary, and noise must not make it narrower than their plain interval.
        low, high = np.fmin(bootstrap.low, tasks.low), np.fmax(bootstrap.high, tasks.high)
        return replace(bootstrap, low=float(low), high=float(high), caution=IDENTICAL)

    method = choices[0].method
    # As many as all seeds have: a selector that is run one by one has fewer.
    weights = seed_weights(draws.resamples, len(values), draws.seed, method)[: values.shape[1] - 1]
    return ResampledCell(
        method=method,
        strategy=choices[0].strategy,
        seeds=tuple(row.seed for row in choices),
        result=interval(values, choices[0].novel),
        values=values,
        weights=weights,
        mixed=None if reported is None else interval(reported, choices[0].reported),
        mixed_values=reported,
    )
