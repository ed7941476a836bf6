"""The command line: ``fsl-sweep``."""

from fsl_sweep.orchestrator.cli.app import invoke, main

__all__ = ["invoke", "main"]
