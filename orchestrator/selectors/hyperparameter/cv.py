"""The configuration whose learners do best on classes that a fold kept out of their training."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.best import BestConfiguration, first_best
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.statistics.ties import comparable


class CrossValidated(BestConfiguration):
    """Highest accuracy on held-out class folds, averaged over the folds.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5 (cross validated hyperparameter
    selection).

    Args:
        snapshots: which snapshot of each fold's trial counts. ``own``: the one that the snapshot
            selector in force chooses there. ``aligned``: the one at the candidate's epoch, so
            that the average is over learners trained as long as the one that will be kept.

    Raises:
        ValueError: ``snapshots`` is neither.
    """

    name: ClassVar[str] = "cv"
    needs: ClassVar[frozenset[str]] = frozenset({"cv"})

    def __init__(self, snapshots: str = "own") -> None:
        if snapshots not in ("own", "aligned"):
            raise ValueError(f"snapshots of the folds are 'own' or 'aligned', not {snapshots!r}")
        self.snapshots, self.asks_folds = snapshots, snapshots == "own"

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the highest average.

        Raises:
            SelectionError: all averages are NaN, or a fold has no record of a candidate's epoch
                where epochs are aligned.
        """
        scores = [one.scores["cv"] if self.asks_folds else _aligned(one) for one in candidates]
        return candidates[first_best(comparable(scores))]


def _aligned(candidate: Candidate) -> float:
    history = candidate.history
    for number, fold in enumerate(history.folds):
        if candidate.epoch not in fold.epochs:
            raise SelectionError(
                f"Selector 'cv(aligned)' needs epoch {candidate.epoch} of every fold of "
                f"{candidate.trial}, but fold {number} has no record of it."
            )
    return float(history.scores["cv"][history.index(candidate.epoch)])
