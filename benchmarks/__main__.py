"""Run every benchmark: ``python -m benchmarks``."""

from benchmarks import evaluation, heads, report, sweep_overhead

for benchmark in (evaluation, heads, sweep_overhead):
    benchmark.main()
report.main([])
