"""The configuration whose selected snapshot has the best ValGen."""

from collections.abc import Sequence
from typing import ClassVar

from fsl_sweep.orchestrator.history import Candidate
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector
from fsl_sweep.orchestrator.selectors.best import best_candidate


class ValConfiguration(HyperparameterSelector):
    """Highest accuracy on tasks from the validation classes: the usual practice.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.1.
    """

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the highest score. Raises SelectionError if all scores are NaN."""
        return best_candidate(candidates, "val")
