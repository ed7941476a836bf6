"""The snapshot with the best ValGen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestSnapshot


class ValSnapshot(BestSnapshot):
    """Highest accuracy on tasks from the validation classes: the usual practice.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.1.
    """

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def score(self, scores: Mapping[str, Any]) -> Any:
        """ValGen."""
        return scores["val"]
