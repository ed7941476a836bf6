"""The configuration whose selected snapshot has the best ValGen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestConfiguration


class ValConfiguration(BestConfiguration):
    """Highest accuracy on tasks from the validation classes: the usual practice.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.1.
    """

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def score(self, scores: Mapping[str, Any]) -> Any:
        """ValGen."""
        return scores["val"]
