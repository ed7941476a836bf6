"""The configuration whose selected snapshot has the best BaseGen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestConfiguration


class BaseConfiguration(BestConfiguration):
    """Highest accuracy on tasks from fresh examples of the base classes.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.1.
    """

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def score(self, scores: Mapping[str, Any]) -> Any:
        """BaseGen."""
        return scores["base"]
