"""The benchmarks, each a module or a folder."""
