"""Run every benchmark: ``python -m benchmarks``."""

from benchmarks import adaptation, evaluation, heads, report, sweep_overhead

for benchmark in (adaptation, evaluation, heads, sweep_overhead):
    benchmark.main()
report.main([])
