"""Run every benchmark: ``python -m benchmarks``."""

from benchmarks import (
    adaptation,
    allocator,
    evaluation,
    frozen,
    heads,
    protocols,
    report,
    sweep_overhead,
)

for benchmark in (adaptation, allocator, evaluation, frozen, heads, protocols, sweep_overhead):
    benchmark.main()
report.main([])
