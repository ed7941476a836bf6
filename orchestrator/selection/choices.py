"""What is chosen among: replicates, their class folds, and the choices of snapshot selectors."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import final

import numpy as np

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.results import LeftOut, why_unusable
from fsl_sweep.orchestrator.selectors import Candidate, SnapshotSelector, apply, snapshot_selector
from fsl_sweep.orchestrator.selectors.apply import apply_at_once
from fsl_sweep.orchestrator.selectors.base import NONE, is_cross_validated
from fsl_sweep.orchestrator.selectors.history import History


def replicates_of(
    histories: Iterable[TrialHistory],
) -> dict[tuple[str, int], list[TrialHistory]]:
    """Full trials by (method, seed): methods in plan order, seeds ascending."""
    groups: dict[tuple[str, int], list[TrialHistory]] = defaultdict(list)
    for trial in histories:
        if trial.fold is None:
            groups[trial.method, trial.seed].append(trial)
    order = list(dict.fromkeys(method for method, _ in groups))
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


@final
class FoldTrials:
    """The trials of class folds among ``histories``, one for each planned trial.

    An average over folds is over all folds of the method, or is not made.
    """

    def __init__(self, histories: Iterable[TrialHistory]) -> None:
        self._trials: dict[tuple[str, str, int], dict[int, TrialHistory]] = defaultdict(dict)
        self._folds: dict[str, set[int]] = defaultdict(set)
        for trial in histories:
            if trial.fold is not None:
                self._trials[_key(trial)][trial.fold] = trial
                self._folds[trial.method].add(trial.fold)

    def of(self, trial: TrialHistory) -> tuple[TrialHistory, ...]:
        """Return the fold trials of a full trial, in order; none unless every one is complete."""
        if self.gaps(trial):
            return ()
        return tuple(history for _, history in sorted(self._trials.get(_key(trial), {}).items()))

    def gaps(self, trial: TrialHistory) -> list[LeftOut]:
        """Return the incomplete folds of a full trial, and why."""
        trials = self._trials.get(_key(trial), {})
        gaps: list[LeftOut] = []
        for fold in sorted(self._folds.get(trial.method, ())):
            history = trials.get(fold)
            reason = "not planned" if history is None else why_unusable(history)
            if reason is not None:
                gap = LeftOut.of(trial, f"fold {fold}: {reason}")
                gaps.append(replace(gap, trial=history.trial if history else None, fold=fold))
        return gaps


@final
class Chosen:
    """The choices of snapshot selectors, by name, in the trials of one report; made once.

    Attributes:
        planned: one history for each planned trial, recorded or not.
        folds: the trials of class folds among them.
    """

    def __init__(self, histories: Iterable[TrialHistory]) -> None:
        self.planned = list(histories)
        self.folds = FoldTrials(self.planned)
        self._histories: dict[int, History] = {}
        self._selectors: dict[str, SnapshotSelector] = {}
        self._epochs: dict[str, dict[int | bytes, int]] = {}

    def selector(self, name: str) -> SnapshotSelector:
        """Return the snapshot selector of that name. Raises as ``snapshot_selector``."""
        if name not in self._selectors:
            self._selectors[name] = snapshot_selector(name)
        return self._selectors[name]

    def history(self, trial: TrialHistory) -> History:
        """Return A planned trial with its class folds, if every one is complete."""
        if id(trial) not in self._histories:
            self._histories[id(trial)] = History.from_trial(trial, self.folds.of(trial))
        return self._histories[id(trial)]

    def epoch(self, trial: TrialHistory, name: str) -> int:
        """Return the epoch that the selector chooses. Raises SelectionError if it cannot."""
        selector = self.selector(name)
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

    def with_folds(self, candidates: Sequence[Candidate], name: str) -> list[Candidate]:
        """Return the candidates with the epoch that the selector chooses in each class fold.

        A selector that reads the folds itself has chosen one epoch for all of them.
        """
        selector = self.selector(name)
        if is_cross_validated(selector):
            return list(candidates)
        return [
            replace(
                candidate,
                fold_epochs=tuple(apply(selector, fold) for fold in candidate.history.folds),
            )
            for candidate in candidates
        ]


def recorded(trial: TrialHistory, needs: Iterable[str]) -> bool:
    """Return whether a trial has all that a selector declares; if not, ``apply`` says what."""
    return all(m in trial.curves or (m, "selection") in trial.scores for m in needs)


def seen(trial: TrialHistory, measure: str) -> np.ndarray:
    """Return what a selector sees of a measure that was recorded, float64 ``[E]``."""
    if measure in trial.curves:
        return trial.curves[measure]
    return trial.scores[measure, "selection"].means  # type: ignore[index]


def _key(trial: TrialHistory) -> tuple[str, str, int]:
    return trial.method, trial.configuration, trial.seed
