"""``python -m fsl_sweep``: the same as ``fsl-sweep``."""

from fsl_sweep.orchestrator.cli import main

main()
