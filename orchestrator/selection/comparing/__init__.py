"""Methods, strategies and benchmarks compared by what was selected."""
