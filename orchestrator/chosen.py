"""Which snapshot a selector chooses in a trial: asked once, however many want to know."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import final

from fsl_sweep.orchestrator.cross_validation import FoldTrials
from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.records import TrialHistory
from fsl_sweep.orchestrator.selectors import SnapshotSelector, apply, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_cross_validated


@final
class Chosen:
    """The choices of snapshot selectors, by name, in the trials of one report.

    Args:
        histories: one for each planned trial, recorded or not.

    Attributes:
        folds: the trials of class folds among them.
    """

    def __init__(self, histories: Iterable[TrialHistory]) -> None:
        self.planned = list(histories)
        self.folds = FoldTrials(self.planned)
        self._histories: dict[int, History] = {}
        self._selectors: dict[str, SnapshotSelector] = {}
        self._epochs: dict[tuple[int, str], int] = {}

    def selector(self, name: str) -> SnapshotSelector:
        """The snapshot selector of that name. Raises as ``snapshot_selector``."""
        if name not in self._selectors:
            self._selectors[name] = snapshot_selector(name)
        return self._selectors[name]

    def history(self, trial: TrialHistory) -> History:
        """A planned trial with its class folds, if every one of them is whole."""
        if id(trial) not in self._histories:
            self._histories[id(trial)] = History.from_trial(trial, self.folds.of(trial))
        return self._histories[id(trial)]

    def epoch(self, trial: TrialHistory, name: str) -> int:
        """The epoch that the selector of that name chooses.

        Raises:
            SelectionError: it cannot choose.
        """
        key = (id(trial), name)
        if key not in self._epochs:
            self._epochs[key] = apply(self.selector(name), self.history(trial))
        return self._epochs[key]

    def candidates(self, trials: Sequence[TrialHistory], name: str) -> list[Candidate]:
        """The snapshot that the selector leaves of each trial. Raises as ``epoch``."""
        return [
            Candidate(t.trial, t.hyperparameters, self.epoch(t, name), self.history(t))
            for t in trials
        ]

    def with_folds(self, candidates: Sequence[Candidate], name: str) -> list[Candidate]:
        """The candidates with the epoch that the selector chooses in each class fold.

        A selector that reads the folds itself has chosen one epoch for all of them.
        """
        selector = self.selector(name)
        if is_cross_validated(selector):
            return list(candidates)
        return [
            replace(one, fold_epochs=tuple(apply(selector, fold) for fold in one.history.folds))
            for one in candidates
        ]
