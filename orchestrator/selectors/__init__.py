"""Strategies to choose which snapshot of which configuration represents a method."""

from fsl_sweep.orchestrator.selectors.apply import apply
from fsl_sweep.orchestrator.selectors.base import (
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
)
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.catalogue import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.history import History

__all__ = [
    "HYPERPARAMETER_SELECTORS",
    "SNAPSHOT_SELECTORS",
    "Candidate",
    "FrontSelector",
    "History",
    "HyperparameterSelector",
    "SnapshotSelector",
    "apply",
    "hyperparameter_selector",
    "snapshot_selector",
]
