"""Medians of interleaved runs, so that a drifting machine slows all candidates alike."""

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch


def medians(
    candidates: Mapping[str, Callable[[], object]],
    runs: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each candidate over ``runs`` rounds, after one round to warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(runs + 1):
        for name, candidate in candidates.items():
            start = clock()
            candidate()
            if number:
                seconds[name].append(clock() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def hardware() -> str:
    """Processor, torch and threads, in one line."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, torch {torch.__version__}"
