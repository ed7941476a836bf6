"""Searchers: what proposes the configurations of a method, in rounds."""

from fsl_sweep.orchestrator.records.search import Outcome
from fsl_sweep.orchestrator.searchers.base import Axis, Searcher

__all__ = ["Axis", "Outcome", "Searcher"]
