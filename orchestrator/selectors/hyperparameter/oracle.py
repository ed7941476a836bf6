"""The configuration whose selected snapshot has the best NovelGen, as an upper reference."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.history import Candidate
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector
from fsl_sweep.orchestrator.selectors.best import best_candidate


class OracleConfiguration(HyperparameterSelector):
    """Highest accuracy on novel tasks. It reads test scores: a reference, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5 (oracle evaluation).
    """

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the highest score. Raises SelectionError if all scores are NaN."""
        return best_candidate(candidates, "novel")
