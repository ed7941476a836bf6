"""Finding, preparing and opening a benchmark on this machine."""
