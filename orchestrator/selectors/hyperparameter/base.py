"""The configuration whose selected snapshot has the best BaseGen."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.history import Candidate
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector
from fsl_sweep.orchestrator.selectors.best import best_candidate


class BaseConfiguration(HyperparameterSelector):
    """Highest accuracy on tasks from fresh examples of the base classes.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.1.
    """

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the highest score. Raises SelectionError if all scores are NaN."""
        return best_candidate(candidates, "base")
