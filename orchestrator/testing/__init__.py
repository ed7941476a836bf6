"""Conformance suites for third parties' parts.

Subclass a contract in a test module and say which selector it is about; pytest collects the
tests that it inherits::

    class TestMine(SnapshotSelectorContract):
        selector = MySelector()
"""

from fsl_sweep.orchestrator.testing.hyperparameter import HyperparameterSelectorContract
from fsl_sweep.orchestrator.testing.snapshot import SnapshotSelectorContract

__all__ = ["HyperparameterSelectorContract", "SnapshotSelectorContract"]
