"""The snapshot with the best BaseGen."""

from typing import ClassVar

from fsl_sweep.orchestrator.history import History
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import best_epoch


class BaseSnapshot(SnapshotSelector):
    """Highest accuracy on tasks from fresh examples of the base classes.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.2.
    """

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def select(self, history: History) -> int:
        """The epoch of the highest score. Raises SelectionError if all scores are NaN."""
        return best_epoch(history, "base")
