"""One replicate on resampled tasks: what each selector chooses in each resample.

Selectors whose score is elementwise choose in all resamples at once. Any other, a third party's
above all, is run on a history of each resample like on any history: each task repeated as often as
it was drawn. Where classes are drawn as well, all tasks of a snapshot are then moved by what the
draw adds to its mean, so that they have that mean, and their noise stays what it was. That may take
single accuracies out of [0, 1].
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.records import MEASURES, Measure, ScoreTable, TaskSet, TrialHistory
from fsl_sweep.orchestrator.selectors.base import (
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)
from fsl_sweep.orchestrator.selectors.best import BestConfiguration, BestSnapshot
from fsl_sweep.orchestrator.selectors.foreign import faults_told
from fsl_sweep.orchestrator.selectors.hyperparameter.budgeted_oracle import BudgetedOracle
from fsl_sweep.orchestrator.selectors.hyperparameter.cv import CrossValidated
from fsl_sweep.orchestrator.selectors.snapshot.cv_epoch import CrossValidatedEpoch
from fsl_sweep.orchestrator.statistics.class_draws import ClassTuples
from fsl_sweep.orchestrator.statistics.resampling import Resampling
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.statistics.weighted import weighted_means

Classes = Mapping[tuple[Measure, TaskSet], ClassTuples]

NONE = -1
"""In place of a position, where a selector could not choose."""

_FREE_OF_TASKS = frozenset({"train_loss"})


class ResampledTrial:
    """A trial's mean accuracies in each resample of its tasks.

    Args:
        trial: a whole trial.
        draws: the resamples that all trials share.
        classes: class tuples by measure and task set, to resample classes as well; else empty.
        folds: the trials of its class folds.
    """

    def __init__(
        self,
        trial: TrialHistory,
        draws: Resampling,
        classes: Classes,
        folds: Sequence["ResampledTrial"] = (),
    ) -> None:
        self.trial, self.folds, self._draws = trial, tuple(folds), draws
        self._classes = {} if trial.fold is not None else classes
        self._weights: dict[Measure, np.ndarray] = {}
        self._shifts: dict[Measure, np.ndarray] = {}
        self._tables: dict[Measure, np.ndarray] = {}
        self._histories: dict[int, History] = {}

    @cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """By measure, on the selection tasks: ``[R, E]``, and training loss ``[1, E]``."""
        found: dict[str, np.ndarray] = {m: self._means(m, "selection") for m in MEASURES}
        if "train_loss" in self.trial.curves:
            found["train_loss"] = np.asarray(self.trial.curves["train_loss"], np.float64)[None]
        if self.folds:
            found["cv"] = np.mean([self._aligned(fold) for fold in self.folds], axis=0)
        return found

    @cached_property
    def report(self) -> np.ndarray:
        """NovelGen on the report tasks ``[R, E]``."""
        return self._means("novel", "report")

    @cached_property
    def base_report(self) -> np.ndarray:
        """BaseGen on the report tasks ``[R, E]``."""
        return self._means("base", "report")

    def history(self, resample: int) -> History:
        """The history of one resample, with the class folds' histories of the same one.

        The first is the trial's own, and what selectors choose from it is what they chose.
        """
        if resample not in self._histories:
            whole = [fold._resampled(resample) for fold in self.folds]
            self._histories[resample] = History.from_trial(self._resampled(resample), whole)
        return self._histories[resample]

    def _means(self, measure: Measure, task_set: TaskSet) -> np.ndarray:
        table = self.trial.scores[measure, task_set].load()
        fold = () if self.trial.fold is None else (f"fold {self.trial.fold}",)
        weights = self._draws.weights((measure, task_set, *fold), table.shape[1])
        classes = self._classes.get((measure, task_set))
        shifts = None if classes is None else self._draws.shifts(table, classes)
        if task_set == "selection":
            self._weights[measure] = weights
            if shifts is not None:
                self._shifts[measure] = shifts
        means = weighted_means(table, weights)
        return means if shifts is None else means + shifts

    def _aligned(self, fold: "ResampledTrial") -> np.ndarray:
        """``val`` of a fold at this trial's epochs ``[R, E]``; NaN where it has no record."""
        at = np.searchsorted(fold.trial.epochs, self.trial.epochs)
        at = np.minimum(at, len(fold.trial.epochs) - 1)
        there = fold.trial.epochs[at] == self.trial.epochs
        return np.where(there, fold.scores["val"][:, at], np.nan)

    def _resampled(self, resample: int) -> TrialHistory:
        if resample == 0:
            return self.trial
        tables = {
            # Means that tie as means do, for selectors that compare them as they are.
            (m, "selection"): ScoreTable(
                comparable(self.scores[m][resample]), self._loader(m, resample)
            )
            for m in MEASURES
        }
        return replace(self.trial, scores=tables)

    def _loader(self, measure: Measure, resample: int) -> Callable[[], np.ndarray]:
        def load() -> np.ndarray:
            if measure not in self._tables:
                self._tables[measure] = self.trial.scores[measure, "selection"].load()
            times = self._weights[measure][resample].astype(np.int64)
            drawn = np.repeat(self._tables[measure], times, axis=1)
            shifts = self._shifts.get(measure)
            return drawn if shifts is None else drawn + shifts[resample][:, None]

        return load


class ResampledReplicate:
    """The trials of one method and seed on resampled tasks.

    Args:
        trials: one for each configuration.
        resamples: how many there are.
        one_by_one: how many of them to run a selector on that cannot choose in all at once.
    """

    def __init__(self, trials: Sequence[ResampledTrial], resamples: int, one_by_one: int) -> None:
        self.trials, self._all, self._few = trials, 1 + resamples, 1 + min(one_by_one, resamples)
        self._picked: dict[tuple[int, int], np.ndarray] = {}

    def select(
        self, first: SnapshotSelector, second: HyperparameterSelector
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the chosen trial and of the snapshot in it, int64 ``[R]`` each.

        NONE where a selector had nothing to choose by. R is 1 + the number of resamples, or
        1 + ``one_by_one``.
        """
        count = self._all if _at_once(second) else self._few
        taken = [self.snapshots(first, trial) for trial in self.trials]
        picks = np.stack([at[: min(count, len(at))] for at in taken])  # [n, R]
        whole = (picks != NONE).all(axis=0)
        chosen = np.where(whole, self._configurations(first, second, picks), NONE)
        at = np.take_along_axis(picks, np.maximum(chosen, 0)[None], axis=0)[0]
        return chosen, np.where(chosen == NONE, NONE, at)

    def snapshots(self, selector: SnapshotSelector, trial: ResampledTrial) -> np.ndarray:
        """Position of the snapshot that the selector leaves of a trial in each resample."""
        key = (id(selector), id(trial))
        if key not in self._picked:
            self._picked[key] = self._snapshots(selector, trial)
        return self._picked[key]

    def _snapshots(self, selector: SnapshotSelector, trial: ResampledTrial) -> np.ndarray:
        if selector.needs <= _FREE_OF_TASKS:
            return np.repeat(_applied(selector, trial, 0), self._all)
        if isinstance(selector, BestSnapshot):
            with faults_told(selector):
                return _best(selector.score(trial.scores))
        if isinstance(selector, CrossValidatedEpoch) and trial.folds:
            return _best(trial.scores["cv"])
        return np.array([_applied(selector, trial, r) for r in range(self._few)])

    def _configurations(
        self, first: SnapshotSelector, second: HyperparameterSelector, picks: np.ndarray
    ) -> np.ndarray:
        if isinstance(second, BestConfiguration):
            with faults_told(second):
                return _best(second.score(self._at(picks)))
        if isinstance(second, CrossValidated):
            own = second.snapshots == "own" and not isinstance(first, CrossValidatedEpoch)
            return _best(self._held_out(first, picks) if own else self._at(picks)["cv"])
        if isinstance(second, BudgetedOracle) and second.allocation == "top":
            scores = self._at(picks)
            val, novel = comparable(scores["val"]), comparable(scores["novel"])
            return _best(_afforded(val, novel, second.novel_budget or 0))
        return np.array([self._asked(first, second, at, r) for r, at in enumerate(picks.T)])

    def _at(self, picks: np.ndarray) -> dict[str, np.ndarray]:
        """Scores of the picked snapshots ``[n, R]`` by measure ``[R, n]``."""
        rows = np.arange(picks.shape[1])
        at = np.maximum(picks, 0)
        found = {}
        for measure in self.trials[0].scores:
            tables = [trial.scores[measure] for trial in self.trials]
            # Training loss has one row, because it does not depend on tasks.
            columns = [t[rows if len(t) > 1 else 0, one] for t, one in zip(tables, at, strict=True)]
            found[measure] = np.stack(columns, axis=1)
        return found

    def _held_out(self, first: SnapshotSelector, picks: np.ndarray) -> np.ndarray:
        """Mean over folds of the accuracy of each fold's own snapshot ``[R, n]``."""
        rows = np.arange(picks.shape[1])
        columns = []
        for trial in self.trials:
            found = []
            for fold in trial.folds:
                at = self.snapshots(first, fold)[rows]
                at_it = fold.scores["val"][rows, np.maximum(at, 0)]
                found.append(np.where(at == NONE, np.nan, at_it))
            columns.append(np.mean(found, axis=0))
        return np.stack(columns, axis=1)

    def _asked(
        self, first: SnapshotSelector, second: HyperparameterSelector, at: np.ndarray, resample: int
    ) -> int:
        if (at == NONE).any():
            return NONE
        candidates = [
            self._candidate(first, trial, int(position), resample, "cv" in second.needs)
            for trial, position in zip(self.trials, at, strict=True)
        ]
        try:
            chosen = apply(second, candidates)
        except SelectionError:
            return NONE
        return next(i for i, one in enumerate(candidates) if one is chosen)

    def _candidate(
        self, first: SnapshotSelector, one: ResampledTrial, at: int, resample: int, folds: bool
    ) -> Candidate:
        trial, epoch = one.trial, int(one.trial.epochs[at])
        own = folds and not isinstance(first, CrossValidatedEpoch)
        chosen = (
            tuple(
                int(fold.trial.epochs[self.snapshots(first, fold)[resample]]) for fold in one.folds
            )
            if own
            else None
        )
        return Candidate(trial.trial, trial.hyperparameters, epoch, one.history(resample), chosen)


def _at_once(selector: HyperparameterSelector) -> bool:
    if isinstance(selector, BudgetedOracle):
        return selector.allocation == "top"
    return isinstance(selector, BestConfiguration | CrossValidated)


def _afforded(val: np.ndarray, novel: np.ndarray, budget: int) -> np.ndarray:
    """``novel [R, n]`` of the ``budget`` candidates with the best ``val``, else NaN."""
    ranks = np.argsort(np.argsort(-val, axis=1, kind="stable"), axis=1, kind="stable")
    return np.where((ranks < budget) & ~np.isnan(val), novel, np.nan)


def _applied(selector: SnapshotSelector, trial: ResampledTrial, resample: int) -> int:
    try:
        return trial.trial.index(apply(selector, trial.history(resample)))
    except SelectionError:
        return NONE


def _best(scores: np.ndarray) -> np.ndarray:
    """Position of the highest score in each row; the first among equals, NONE if all are NaN."""
    ranked = np.where(np.isnan(scores), -np.inf, comparable(scores))
    return np.where(np.isnan(scores).all(axis=-1), NONE, ranked.argmax(axis=-1))
