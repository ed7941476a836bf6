"""The trials of class folds: which full trial they belong to, and whether all are there.

An average over folds is over all of them or is not made: what is missing is named, and what
depends on it is left out.
"""

from collections.abc import Iterable
from typing import final

from fsl_sweep.orchestrator.records import TrialHistory
from fsl_sweep.orchestrator.selected import LeftOut, why_unusable


@final
class FoldTrials:
    """The fold trials among recorded trials.

    The folds of a method are all that any of its configurations and seeds was planned with.

    Args:
        histories: one for each planned trial, recorded or not.
    """

    def __init__(self, histories: Iterable[TrialHistory]) -> None:
        self._trials: dict[tuple[str, str, int], dict[int, TrialHistory]] = {}
        self._folds: dict[str, set[int]] = {}
        for trial in histories:
            if trial.fold is not None:
                self._trials.setdefault(_key(trial), {})[trial.fold] = trial
                self._folds.setdefault(trial.method, set()).add(trial.fold)

    def of(self, trial: TrialHistory) -> tuple[TrialHistory, ...]:
        """The fold trials of a full trial, in order; none at all unless every one is whole."""
        if self.gaps(trial):
            return ()
        found = self._trials.get(_key(trial), {})
        return tuple(found[fold] for fold in sorted(found))

    def gaps(self, trial: TrialHistory) -> list[LeftOut]:
        """The folds of a full trial that take no part in any average, and why."""
        found = self._trials.get(_key(trial), {})
        gaps: list[LeftOut] = []
        for fold in sorted(self._folds.get(trial.method, ())):
            one = found.get(fold)
            reason = "not planned" if one is None else why_unusable(one)
            if reason is not None:
                gap = LeftOut(
                    trial.method,
                    trial.seed,
                    f"fold {fold}: {reason}",
                    None if one is None else one.trial,
                    trial.hyperparameters,
                    fold=fold,
                )
                gaps.append(gap)
        return gaps


def _key(trial: TrialHistory) -> tuple[str, str, int]:
    return trial.method, trial.configuration, trial.seed
