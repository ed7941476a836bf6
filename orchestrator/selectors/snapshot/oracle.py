"""The snapshot with the best NovelGen, as an upper reference."""

from typing import ClassVar

from fsl_sweep.orchestrator.history import History
from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import best_epoch


class OracleSnapshot(SnapshotSelector):
    """Highest accuracy on novel tasks. It reads test scores: a reference, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.3, table 6 (best NovelGen).
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})

    def select(self, history: History) -> int:
        """The epoch of the highest score. Raises SelectionError if all scores are NaN."""
        return best_epoch(history, "novel")
