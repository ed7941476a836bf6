"""A view of the ledger for TensorBoard: written live, and rebuilt from the records at any time.

Neither torch nor TensorFlow is needed.
"""

from fsl_sweep.orchestrator.tensorboard.view import LiveView, rebuild

__all__ = ["LiveView", "rebuild"]
