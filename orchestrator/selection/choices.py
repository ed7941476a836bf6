"""What is chosen among: the choices of snapshot selectors in the trials of one report."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import final

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.candidates import candidates_of, leaves_nothing
from fsl_sweep.orchestrator.selection.completeness import FoldTrials, replicates_of
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply_at_once
from fsl_sweep.orchestrator.selectors.base import NONE, is_cross_validated, reads_each_fold
from fsl_sweep.orchestrator.selectors.history import History


@final
class Chosen:
    """The choices of snapshot selectors, by name, in the trials of one report; made once.

    Attributes:
        stopped_by: the measure by which configurations were stopped early, if any were.
        planned: one history for each planned trial, recorded or not; without the full trials that
            were stopped by a scheduler's rule, or diverged before their first snapshot.
        replicates: the full ones among them by method and seed; none where all are left out.
        folds: the trials of class folds.
    """

    def __init__(self, histories: Iterable[TrialHistory], stopped_by: str | None = None) -> None:
        every, self.stopped_by = list(histories), stopped_by
        self.planned = [t for t in every if t.fold is not None or not leaves_nothing(t)]
        self.replicates = {
            replicate: [trial for trial in trials if not leaves_nothing(trial)]
            for replicate, trials in replicates_of(every).items()
        }
        self.folds = FoldTrials(every)
        self._histories: dict[int, History] = {}
        self._selectors: dict[str, SnapshotSelector] = {}
        self._epochs: dict[str, dict[int | bytes, int]] = {}

    def selector(self, name: str) -> SnapshotSelector:
        """Return the snapshot selector of that name. Raises as ``snapshot_selector``."""
        if name not in self._selectors:
            self._selectors[name] = snapshot_selector(name)
        return self._selectors[name]

    def history(self, trial: TrialHistory) -> History:
        """Return a planned trial with its class folds, if every one is complete."""
        if id(trial) not in self._histories:
            self._histories[id(trial)] = History.from_trial(trial, self.folds.of(trial))
        return self._histories[id(trial)]

    def epoch(self, trial: TrialHistory, name: str) -> int:
        """Return the epoch that the selector chooses. Raises SelectionError if it cannot."""
        selector = self.selector(name)
        if not candidates_of([trial], selector):
            raise SelectionError(f"Trial {trial.trial} diverged: '{name}' has no end to choose.")
        if name not in self._epochs:
            self._epochs[name] = self._at_once(selector)
        # A selector that reads no score chooses alike where the epochs are the same.
        known, key = self._epochs[name], id(trial) if selector.needs else trial.epochs.tobytes()
        if key not in known:
            known[key] = apply(selector, self.history(trial))
        return known[key]

    def _at_once(self, selector: SnapshotSelector) -> dict[int | bytes, int]:
        """Return its epochs in the trials that ``apply`` need not be run on one by one."""
        epochs: dict[int | bytes, int] = {}
        groups: dict[int, list[TrialHistory]] = defaultdict(list)
        for trial in self.planned:
            if recorded(trial, selector.needs):
                groups[len(trial.epochs)].append(trial)
        groups.pop(0, None)
        for alike in groups.values():
            at = apply_at_once(
                selector, lambda m, group=alike: np.stack([seen(t, m) for t in group])
            )
            if at is not None:
                pairs = zip(alike, at.tolist(), strict=True)
                epochs.update((id(trial), int(trial.epochs[i])) for trial, i in pairs if i != NONE)
        return epochs

    def candidates(self, trials: Sequence[TrialHistory], name: str) -> list[Candidate]:
        """Return the snapshot that the selector leaves of each trial. Raises as ``epoch``."""
        return [
            Candidate(t.trial, t.hyperparameters, self.epoch(t, name), self.history(t))
            for t in trials
        ]

    def with_folds(
        self, candidates: Sequence[Candidate], name: str, second: HyperparameterSelector
    ) -> Sequence[Candidate]:
        """Return the candidates with the epoch that the selector chooses in each class fold.

        Only where ``second`` asks for that, and the selector does not read the folds itself: it has
        then chosen one epoch for all of them.
        """
        selector = self.selector(name)
        if not reads_each_fold(second) or is_cross_validated(selector):
            return candidates
        return [
            replace(c, fold_epochs=tuple(apply(selector, fold) for fold in c.history.folds))
            for c in candidates
        ]


def single_selector(name: str) -> HyperparameterSelector:
    """Return the selector of that name, which chooses one configuration: that of a strategy."""
    selector = hyperparameter_selector(name)
    assert isinstance(selector, HyperparameterSelector)
    return selector


def recorded(trial: TrialHistory, needs: Iterable[str]) -> bool:
    """Return whether a trial has all that a selector declares; if not, ``apply`` says what."""
    return all(m in trial.curves or (m, "selection") in trial.scores for m in needs)


def seen(trial: TrialHistory, measure: str) -> np.ndarray:
    """Return what a selector sees of a measure that was recorded, float64 ``[E]``."""
    if measure in trial.curves:
        return trial.curves[measure]
    return trial.scores[measure, "selection"].means  # type: ignore[index]


def read_once(trial: TrialHistory) -> TrialHistory:
    """Return the same trial, whose novel selection tasks are read once for all that asks."""
    table = trial.scores["novel", "selection"]
    once = replace(table, load=cache(table.load))
    return replace(trial, scores={**trial.scores, ("novel", "selection"): once})
