"""The epoch at which learners do best on classes that a fold kept out of their training."""

from typing import ClassVar

from fsl_sweep.orchestrator.history import History
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import first_best
from fsl_sweep.orchestrator.statistics.ties import comparable


class CrossValidatedEpoch(SnapshotSelector):
    """Highest accuracy on held-out class folds, averaged over the folds epoch by epoch.

    Only epochs that the trial and every fold recorded can be chosen. The snapshot is the full
    trial's: the folds say how long to train, the learner of all base classes is what is kept.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5, which leaves open how
    cross-validation should choose snapshots.
    """

    name: ClassVar[str] = "cv-epoch"
    needs: ClassVar[frozenset[str]] = frozenset({"cv"})

    def select(self, history: History) -> int:
        """The epoch of the highest average. Raises SelectionError if no epoch has one."""
        return int(history.epochs[first_best(comparable(history.scores["cv"]))])
