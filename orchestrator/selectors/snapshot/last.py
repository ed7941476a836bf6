"""The snapshot at the end of training."""

from typing import ClassVar

from fsl_sweep.orchestrator.selectors.base import SnapshotSelector
from fsl_sweep.orchestrator.selectors.history import History


class Last(SnapshotSelector):
    """End of training: the last recorded epoch, whatever its scores.

    Source: "Lessons from Chasing Few-Shot Learning Benchmarks", section 5.1 (EoT); "Two Sides of
    Meta-Learning Evaluation", appendix F.1, strategy 1.
    """

    name: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, history: History) -> int:
        """The last epoch."""
        return int(history.epochs[-1])
