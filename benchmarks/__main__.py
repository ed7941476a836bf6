"""Run every benchmark: ``python -m benchmarks``."""

from benchmarks import evaluation, sweep_overhead

for benchmark in (evaluation, sweep_overhead):
    benchmark.main()
