"""The configuration whose selected snapshot has the best NovelGen, as an upper reference."""

from collections.abc import Mapping
from typing import Any, ClassVar

from fsl_sweep.orchestrator.selectors.best import BestConfiguration


class OracleConfiguration(BestConfiguration):
    """Highest accuracy on novel tasks. It reads test scores: a reference, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5 (oracle evaluation).
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})

    def score(self, scores: Mapping[str, Any]) -> Any:
        """NovelGen."""
        return scores["novel"]
