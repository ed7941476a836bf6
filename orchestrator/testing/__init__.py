"""Conformance suites for third parties' parts.

Subclass a contract in a test module and say which selector or benchmark it is about; pytest
collects the tests that it inherits::

    class TestMine(SnapshotSelectorContract):
        selector = MySelector()

Learners have theirs in ``fsl_sweep.learners.testing.learner``, because it imports torch.
"""

from fsl_sweep.datasets.testing import BenchmarkContract
from fsl_sweep.orchestrator.testing.candidates import (
    FrontSelectorContract,
    HyperparameterSelectorContract,
)
from fsl_sweep.orchestrator.testing.searcher import SearcherContract
from fsl_sweep.orchestrator.testing.snapshot_selector import SnapshotSelectorContract
from fsl_sweep.orchestrator.testing.study import StudyContract

__all__ = [
    "BenchmarkContract",
    "FrontSelectorContract",
    "HyperparameterSelectorContract",
    "SearcherContract",
    "SnapshotSelectorContract",
    "StudyContract",
]
