"""The snapshot with the lowest training loss."""

from typing import ClassVar

from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import first_best
from fsl_sweep.orchestrator.selectors.history import History


class TrainLoss(SnapshotSelector):
    """Lowest mean training loss of an epoch.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.1, strategy 2.
    """

    name: ClassVar[str] = "train_loss"
    needs: ClassVar[frozenset[str]] = frozenset({"train_loss"})

    def select(self, history: History) -> int:
        """The epoch of the lowest loss. Raises SelectionError if all losses are NaN."""
        return int(history.epochs[first_best(-history.scores["train_loss"])])
