"""The snapshot with the best ValGen."""

from typing import ClassVar

from fsl_sweep.orchestrator.history import History
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import best_epoch


class ValSnapshot(SnapshotSelector):
    """Highest accuracy on tasks from the validation classes: the usual practice.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.1.
    """

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def select(self, history: History) -> int:
        """The epoch of the highest score. Raises SelectionError if all scores are NaN."""
        return best_epoch(history, "val")
