"""A run, or several, opened for reading: all that the terminal does, from a notebook."""

from fsl_sweep.orchestrator.run.run import ChosenSnapshot, Run, load_run
from fsl_sweep.orchestrator.run.worlds import Worlds, load_worlds

__all__ = ["ChosenSnapshot", "Run", "Worlds", "load_run", "load_worlds"]
