"""Run every benchmark: ``python -m benchmarks``."""

from benchmarks import adaptation, evaluation, heads, protocols, report, sweep_overhead

for benchmark in (adaptation, evaluation, heads, protocols, sweep_overhead):
    benchmark.main()
report.main([])
