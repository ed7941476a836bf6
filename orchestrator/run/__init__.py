"""A run, or several, opened for reading: all that the terminal does, from a notebook."""

from fsl_sweep.orchestrator.run.benchmarks import Benchmarks, load_benchmarks
from fsl_sweep.orchestrator.run.run import ChosenSnapshot, Run, load_run

__all__ = ["Benchmarks", "ChosenSnapshot", "Run", "load_benchmarks", "load_run"]
