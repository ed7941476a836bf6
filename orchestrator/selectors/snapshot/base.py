"""The snapshot with the best BaseGen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestSnapshot


class BaseSnapshot(BestSnapshot):
    """Highest accuracy on tasks from fresh examples of the base classes.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.2.
    """

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def score(self, scores: Mapping[str, Any]) -> Any:
        """BaseGen."""
        return scores["base"]
