"""Strategies with the uncertainty of their selection: every cell of the table, resampled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.records.measures import Measure, TaskSet, TrialHistory
from fsl_sweep.orchestrator.selection.choices import FoldTrials, replicates_of
from fsl_sweep.orchestrator.selection.replicate import Classes, ResampledReplicate, ResampledTrial
from fsl_sweep.orchestrator.selection.results import Selected, Selection, Strategy, identical
from fsl_sweep.orchestrator.selectors import (
    HyperparameterSelector,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.base import NONE
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.statistics.bootstrap import SelectionBootstrap, summarised
from fsl_sweep.orchestrator.statistics.class_draws import class_tuples
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL
from fsl_sweep.orchestrator.statistics.resampling import Resampling, seed_weights

ClassLists = Mapping[tuple[Measure, TaskSet], ArrayLike]


@dataclass(frozen=True)
class ResampledCell:
    """A method under a strategy.

    Attributes:
        method, strategy: which cell.
        seeds: its replicates.
        result: NovelGen with the interval that includes the selection.
        values: NovelGen of the choice in each resample of tasks, float64 ``[seeds, 1 + R]``; the
            first is not a resample. NaN where nothing could be chosen.
        weights: share of each seed in each resample of seeds, float64 ``[R, seeds]``, for the
            chance to be best; the interval does not resample seeds.
        mixed, mixed_values: the same by the mixture that methods are compared by; None for
            NovelGen.
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
        """What methods are compared by, in each resample of tasks, as ``values``."""
        return self.values if self.mixed_values is None else self.mixed_values


def resample(
    histories: Sequence[TrialHistory],
    selected: Selected,
    *,
    resamples: int = 1000,
    one_by_one: int = 100,
    seed: int = 0,
    confidence: float = 0.95,
    classes: ClassLists | None = None,
) -> tuple[ResampledCell, ...]:
    """Resample tasks, and repeat the selection in each resample.

    One draw of tasks serves all trials, methods and strategies, because they have the tasks in
    common. See ``statistics.selection_bootstrap``. Seeds are drawn beside it for each method by
    itself, because its replicates share nothing with another's.

    Trials are read one replicate at a time; that takes about 50 ms for 60 epochs and 1,000 tasks.

    Args:
        histories: one for each planned trial, as given to ``select``.
        selected: what was selected from them. Cells that something is missing from have no
            interval.
        resamples: how many, at least 2.
        one_by_one: how many of them for strategies whose selectors cannot choose in all resamples
            at once.
        seed: of the resampling.
        confidence: in (0, 1).
        classes: class tuples ``[tasks, ways]`` of the common tasks by measure and task set, to
            resample classes as well; all of base, val, novel in both sets that are to be
            resampled so. Class folds have tasks of their own, of which only tasks are resampled.

    Raises:
        ValueError: an argument is out of its range, or class tuples cannot be resampled.
        SealedMeasurement: a selector read what it did not declare.
    """
    draws, groups = Resampling(resamples, seed), _groups(classes or {})
    folds = FoldTrials(histories)
    first = {s.snapshot: snapshot_selector(s.snapshot) for s in selected.strategies}
    second = {s.hyperparameter: _single(s.hyperparameter) for s in selected.strategies}
    rows: dict[tuple[str, Strategy], list[_Drawn]] = {}
    for (method, _), trials in replicates_of(histories).items():
        wanted = [s for s in selected.strategies if selected.cell(method, s)]
        if wanted:
            crossed = any(strategy.cross_validated for strategy in wanted)
            read = [
                ResampledTrial(t, draws, groups, folds.of(t) if crossed else ()) for t in trials
            ]
            replicate = ResampledReplicate(read, draws.resamples, one_by_one)
            for s in wanted:
                chosen, at = replicate.select(first[s.snapshot], second[s.hyperparameter])
                one = _Drawn.of(read, chosen, at, selected.base_weight)
                rows.setdefault((method, s), []).append(one)
    over = "classes" if classes else "tasks"
    return tuple(
        _cell(selected.cell(method, strategy), rows[method, strategy], draws, confidence, over)
        for method in selected.methods
        for strategy in selected.strategies
        if (method, strategy) in rows
    )


def _single(name: str) -> HyperparameterSelector:
    selector = hyperparameter_selector(name)
    assert isinstance(selector, HyperparameterSelector)
    return selector


@dataclass(frozen=True)
class _Drawn:
    """One seed's choices in each resample: numbers that identify them, and their accuracies."""

    codes: np.ndarray
    novel: np.ndarray
    mixed: np.ndarray | None

    @classmethod
    def of(
        cls,
        trials: Sequence[ResampledTrial],
        chosen: np.ndarray,
        at: np.ndarray,
        base_weight: float | None,
    ) -> "_Drawn":
        def report(measure: Measure) -> np.ndarray:
            values = np.full(len(chosen), np.nan)
            for number, trial in enumerate(trials):
                rows = np.flatnonzero(chosen == number)
                if len(rows):  # a table that nothing was chosen from is not read
                    values[rows] = trial.means(measure, "report")[rows, at[rows]]
            return values

        novel = report("novel")
        by_mixture = None if base_weight is None else mixed(base_weight, report("base"), novel)
        return cls(np.where(chosen == NONE, NONE, chosen * 2**32 + at), novel, by_mixture)


def _cell(
    choices: Sequence[Selection],
    rows: Sequence[_Drawn],
    draws: Resampling,
    confidence: float,
    over: str,
) -> ResampledCell:
    values, codes = np.stack([one.novel for one in rows]), np.stack([one.codes for one in rows])
    by_mixture = [one.mixed for one in rows if one.mixed is not None]
    method, strategy = choices[0].method, choices[0].strategy
    # As many as all seeds have: a selector that is run one by one has fewer.
    weights = seed_weights(draws.resamples, len(values), draws.seed, method)[: values.shape[1] - 1]
    result = summarised(values, codes, confidence, over)
    seeds = tuple(one.seed for one in choices)
    same = identical(choices)
    if same:
        result = _no_narrower(result, choices[0].novel)
    if not by_mixture:
        return ResampledCell(method, strategy, seeds, result, values, weights)
    reported = np.stack(by_mixture)
    other = summarised(reported, codes, confidence, over)
    if same:
        other = _no_narrower(other, choices[0].reported)
    return ResampledCell(method, strategy, seeds, result, values, weights, other, reported)


def _no_narrower(result: SelectionBootstrap, tasks: Interval) -> SelectionBootstrap:
    """The result of identical replicates, where only tasks vary, wider than noise may leave it."""
    low, high = np.fmin(result.low, tasks.low), np.fmax(result.high, tasks.high)
    return replace(result, low=float(low), high=float(high), caution=IDENTICAL)


def _groups(classes: ClassLists) -> Classes:
    """Tasks of one measure share their classes, whichever set they belong to."""
    return {
        (measure, task_set): class_tuples(
            measure, tuples, *(t for (m, s), t in classes.items() if m == measure and s != task_set)
        )
        for (measure, task_set), tuples in classes.items()
    }
