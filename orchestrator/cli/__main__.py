"""``python -m fsl_sweep.orchestrator.cli``."""

from fsl_sweep.orchestrator.cli.app import main

main()
