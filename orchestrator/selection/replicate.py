"""One replicate on resampled tasks: what each selector chooses in each resample.

A selector that cannot choose in all resamples at once is run on a history of each resample, in
which each task is repeated as often as it was drawn. If classes are drawn as well, all tasks of a
snapshot are shifted by what the draw adds to its mean; accuracies may then lie outside [0, 1].
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    Measure,
    ScoreTable,
    TaskSet,
    TrialHistory,
)
from fsl_sweep.orchestrator.selectors import Candidate, HyperparameterSelector, SnapshotSelector
from fsl_sweep.orchestrator.selectors.apply import apply_all
from fsl_sweep.orchestrator.selectors.base import NONE, is_cross_validated, reads_each_fold
from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.statistics.class_draws import ClassTuples
from fsl_sweep.orchestrator.statistics.resampling import Resampling, may_be_higher
from fsl_sweep.orchestrator.statistics.ties import comparable, weighted_means

Classes = Mapping[tuple[Measure, TaskSet], ClassTuples]


class ResampledTrial:
    """A trial's mean accuracies in each resample of its tasks.

    Args:
        trial: a whole trial.
        draws: the resamples that all trials share.
        classes: class tuples by measure and task set, to resample classes as well; or empty.
        folds: the trials of its class folds.
    """

    def __init__(
        self,
        trial: TrialHistory,
        draws: Resampling,
        classes: Classes,
        folds: Sequence[TrialHistory] = (),
    ) -> None:
        self.trial, self._draws = trial, draws
        self.folds = tuple(ResampledTrial(fold, draws, classes) for fold in folds)
        self.classes = {} if trial.fold is not None else classes
        self._means: dict[tuple[str, TaskSet], np.ndarray] = {}
        self._columns: dict[tuple[Measure, TaskSet], dict[int, np.ndarray]] = {}
        self._shifts: dict[Measure, np.ndarray] = {}
        self._tables: dict[Measure, np.ndarray] = {}
        self._histories: dict[int, History] = {}

    def means(self, measure: str, task_set: TaskSet = "selection") -> np.ndarray:
        """Return a measure (``train_loss`` and ``cv`` included) in each resample ``[R, E]``."""
        key = (measure, task_set)
        if key not in self._means:
            if measure == "train_loss":
                loss = np.asarray(self.trial.curves["train_loss"], np.float64)
                scores = np.broadcast_to(loss, (1 + self._draws.resamples, len(loss)))
            elif measure == "cv":
                scores = np.mean([self._aligned(fold) for fold in self.folds], axis=0)
            else:
                scores = self._resampled(measure, task_set)  # type: ignore[arg-type]
            scores.setflags(write=False)
            self._means[key] = scores
        return self._means[key]

    def columns(
        self, measure: Measure, rows: Sequence[int], task_set: TaskSet = "selection"
    ) -> np.ndarray:
        """As ``means``, of the snapshots at some positions ``[R, len(rows)]``."""
        if (measure, task_set) in self._means:
            return self._means[measure, task_set][:, rows]
        known = self._columns.setdefault((measure, task_set), {})
        if missing := [row for row in rows if row not in known]:
            scores = self._resampled(measure, task_set, missing)
            known.update(zip(missing, scores.T, strict=True))
        return np.stack([known[row] for row in rows], axis=1)

    def rivals(
        self, measure: Measure, best: ScoreTable, loaded: np.ndarray, at: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the snapshots that can be the highest of a replicate on resampled selection tasks.

        Args:
            measure: by which.
            best: the table of the trial whose snapshot is the highest without resampling.
            loaded: its accuracies ``[E, T]``.
            at: the position of that snapshot.

        Returns:
            Their positions ``[n]``, and their accuracies of each task ``[n, T]``.
        """
        table = self.trial.scores[measure, "selection"]
        gaps, tasks = best.means[at] - table.means, loaded.shape[1]
        rows = np.arange(len(gaps))
        if table.deviation is not None and best.deviation is not None:
            # Of two variables, whatever their correlation.
            most = (table.deviation + best.deviation) ** 2
            rows = np.flatnonzero(may_be_higher(gaps, most, 1 + gaps, tasks))
        if not len(rows):
            return rows, np.empty((0, tasks))
        accuracies, gaps = (loaded if table is best else table.load())[rows], gaps[rows]
        apart = accuracies - loaded[at]
        kept = may_be_higher(gaps, apart.var(axis=1), apart.max(axis=1) + gaps, tasks)
        return rows[kept], accuracies[kept]

    def history(self, resample: int) -> History:
        """Return the history of one resample, with the class folds' histories of the same one.

        Resample 0 is the trial itself: selectors choose the same snapshots as without resampling.
        """
        if resample not in self._histories:
            folds = [fold._drawn(resample) for fold in self.folds]
            self._histories[resample] = History.from_trial(self._drawn(resample), folds)
        return self._histories[resample]

    def _resampled(
        self, measure: Measure, task_set: TaskSet, rows: Sequence[int] | None = None
    ) -> np.ndarray:
        table = self.trial.scores[measure, task_set].load()
        table = table if rows is None else table[rows]
        means = weighted_means(table, self.weights(measure, task_set, table.shape[1]))
        if (measure, task_set) not in self.classes:
            return means
        shifts = self._draws.shifts(table, self.classes[measure, task_set])
        if task_set == "selection" and rows is None:
            self._shifts[measure] = shifts
        return means + shifts

    def weights(self, measure: Measure, task_set: TaskSet, tasks: int) -> np.ndarray:
        """Of its tasks in each resample, as of ``Resampling.weights``."""
        fold = () if self.trial.fold is None else (f"fold {self.trial.fold}",)
        return self._draws.weights((measure, task_set, *fold), tasks)

    def _aligned(self, fold: "ResampledTrial") -> np.ndarray:
        """``val`` of a fold at this trial's epochs ``[R, E]``; NaN where it has no record."""
        at = np.searchsorted(fold.trial.epochs, self.trial.epochs)
        at = np.minimum(at, len(fold.trial.epochs) - 1)
        there = fold.trial.epochs[at] == self.trial.epochs
        return np.where(there, fold.means("val")[:, at], np.nan)

    def _drawn(self, resample: int) -> TrialHistory:
        if resample == 0:
            return self.trial
        # Means that tie as means do, for selectors that compare them directly.
        means = {m: comparable(self.means(m)[resample]) for m in MEASURES}
        read = {m: partial(self._tasks, m, resample) for m in MEASURES}
        tables = {(m, "selection"): ScoreTable(means[m], read[m]) for m in MEASURES}
        return replace(self.trial, scores=tables)

    def _tasks(self, measure: Measure, resample: int) -> np.ndarray:
        """Accuracy of each drawn selection task ``[E, T]``."""
        if measure not in self._tables:
            self._tables[measure] = self.trial.scores[measure, "selection"].load()
        table = self._tables[measure]
        times = self.weights(measure, "selection", table.shape[1])[resample].astype(np.int64)
        drawn = np.repeat(table, times, axis=1)
        shifts = self._shifts.get(measure)
        return drawn if shifts is None else drawn + shifts[resample][:, None]


class ResampledReplicate:
    """The trials of one method and seed on resampled tasks.

    Args:
        trials: one for each configuration.
        resamples: their number.
        one_by_one: the number for a selector that cannot choose in all resamples at once.
    """

    def __init__(self, trials: Sequence[ResampledTrial], resamples: int, one_by_one: int) -> None:
        self.trials, self._all, self._few = trials, 1 + resamples, 1 + min(one_by_one, resamples)
        self._picked: dict[tuple[int, int], np.ndarray] = {}

    def select(
        self, first: SnapshotSelector, second: HyperparameterSelector
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return positions of the chosen trial and of the snapshot in it, int64 ``[R]`` each.

        NONE if a selector had nothing to choose by. R is 1 + the number of resamples, or
        1 + ``one_by_one``.
        """
        picks = np.stack([self.snapshots(first, trial) for trial in self.trials])  # [n, R]
        apart = reads_each_fold(second) and not is_cross_validated(first)
        in_folds = first if apart else None
        chosen = apply_all(
            second,
            {m: self._at(m, in_folds, picks) for m in second.needs},
            lambda resample: self._candidates(in_folds, picks, resample),
            min(self._few, picks.shape[1]),
        )
        picks = picks[:, : len(chosen)]
        chosen = np.where((picks != NONE).all(axis=0), chosen, NONE)
        at = np.take_along_axis(picks, np.maximum(chosen, 0)[None], axis=0)[0]
        return chosen, np.where(chosen == NONE, NONE, at)

    def select_highest(
        self, first: SnapshotSelector, second: HyperparameterSelector
    ) -> tuple[np.ndarray, np.ndarray]:
        """As ``select``, where both choose the highest of one measure: only rivals are resampled.

        For any others it is ``select``.
        """
        if first.highest_of != second.highest_of or not (rivals := self._rivals(first.highest_of)):
            return self.select(first, second)
        measure, resamples = str(first.highest_of), np.arange(self._all)
        picks: list[np.ndarray] = []
        scores: list[np.ndarray] = []
        for number, rows, accuracies in rivals:
            at = apply_all(first, {measure: accuracies}, self.trials[number].history, self._few)
            picks.append(rows[at])
            scores.append(accuracies[resamples, at])
        best = {measure: np.stack(scores, axis=1)}
        kept = apply_all(second, best, lambda r: self._candidates(None, np.stack(picks), r), 1)
        return np.array([number for number, *_ in rivals])[kept], np.stack(picks)[kept, resamples]

    def _rivals(self, measure: str | None) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return for each trial with rivals its number, their positions, and scores ``[R, n]``.

        Empty where all snapshots may be rivals.
        """
        known: Measure | None = next((m for m in MEASURES if m == measure), None)
        if known is None or any((known, "selection") in t.classes for t in self.trials):
            return []
        tables = [trial.trial.scores[known, "selection"] for trial in self.trials]
        highest = [comparable(table.means).max() for table in tables]
        if not np.isfinite(highest).all():
            return []
        best = tables[int(np.argmax(highest))]
        loaded, at = best.load(), int(np.argmax(best.means))
        rivals = [trial.rivals(known, best, loaded, at) for trial in self.trials]
        weights = self.trials[0].weights(known, "selection", loaded.shape[1])
        scores = weighted_means(np.concatenate([accuracies for _, accuracies in rivals]), weights)
        ends = np.cumsum([len(rows) for rows, _ in rivals])
        return [
            (number, rows, scores[:, end - len(rows) : end])
            for number, ((rows, _), end) in enumerate(zip(rivals, ends, strict=True))
            if len(rows)
        ]

    def snapshots(self, selector: SnapshotSelector, trial: ResampledTrial) -> np.ndarray:
        """Return position of the snapshot that the selector leaves of a trial in each resample."""
        key = (id(selector), id(trial))
        if key not in self._picked:
            if selector.needs <= {"train_loss"}:  # does not depend on the tasks
                once = apply_all(selector, {}, trial.history, 1)
                self._picked[key] = np.repeat(once, self._all)
            else:
                scores = {m: trial.means(m) for m in selector.needs}
                self._picked[key] = apply_all(selector, scores, trial.history, self._few)
        return self._picked[key]

    def _at(self, measure: str, first: SnapshotSelector | None, picks: np.ndarray) -> np.ndarray:
        """Return scores ``[R, n]`` of the snapshots at ``picks [n, R]``; of the first one for NONE.

        For ``cv``, ``first`` chooses the snapshot of each fold; None for the trial's epoch.
        """
        if measure == "cv" and first is not None:
            return np.stack([self._held_out(first, t, picks.shape[1]) for t in self.trials], axis=1)
        rows = np.arange(picks.shape[1])
        pairs = zip(self.trials, np.maximum(picks, 0), strict=True)
        return np.stack([trial.means(measure)[rows, at] for trial, at in pairs], axis=1)

    def _held_out(self, first: SnapshotSelector, trial: ResampledTrial, count: int) -> np.ndarray:
        """Return mean over folds of the accuracy of each fold's own snapshot ``[count]``."""
        rows, scores = np.arange(count), []
        for fold in trial.folds:
            at = self.snapshots(first, fold)[rows]
            values = fold.means("val")[rows, np.maximum(at, 0)]
            scores.append(np.where(at == NONE, np.nan, values))
        return np.mean(scores, axis=0)

    def _candidates(
        self, first: SnapshotSelector | None, picks: np.ndarray, resample: int
    ) -> list[Candidate]:
        """Return the candidates of one resample; ``first`` as in ``_at``. Raises SelectionError."""
        candidates: list[Candidate] = []
        for resampled, at in zip(self.trials, picks[:, resample], strict=True):
            if at == NONE:
                raise SelectionError("A trial has no snapshot to choose.")
            trial, epochs = resampled.trial, None
            if first is not None:
                in_folds = [self.snapshots(first, fold)[resample] for fold in resampled.folds]
                if NONE in in_folds:
                    raise SelectionError("A class fold has no snapshot to choose.")
                pairs = zip(resampled.folds, in_folds, strict=True)
                epochs = tuple(int(fold.trial.epochs[i]) for fold, i in pairs)
            epoch, history = int(trial.epochs[at]), resampled.history(resample)
            candidates.append(Candidate(trial.trial, trial.hyperparameters, epoch, history, epochs))
        return candidates
