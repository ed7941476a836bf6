"""The benchmark that a trial sees: the sweep's, or that of the trial's class fold."""

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.class_folds import ClassFold, fold_benchmark
from fsl_sweep.orchestrator.config import Fold


def benchmark_of(fold: Fold | None, benchmark: Benchmark) -> Benchmark:
    """What a trial trains on and is measured on.

    Args:
        fold: the trial's class fold; None for a full trial.
        benchmark: the sweep's.

    Raises:
        BadData: the benchmark cannot be divided so.
    """
    if fold is None:
        return benchmark
    return fold_benchmark(benchmark, ClassFold(**fold.model_dump()))
