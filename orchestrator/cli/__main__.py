"""``python -m fsl_sweep.orchestrator.cli``."""

from fsl_sweep.orchestrator.cli import main

main()
