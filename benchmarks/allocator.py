"""Whether training waits for the memory allocator: a trial with and without memory that is kept.

Each is a whole ``fsl-sweep trial`` in a fresh process, the two in turn. Target: steps of 400 images
take at most 0.85 of the time with memory that is kept, and snapshots are the same bytes.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks.timing import hardware
from fsl_sweep.orchestrator.trial.allocator import SWITCH

ROUNDS, STEPS = 5, 20
KEPT, RETURNED = "kept", "returned"
SETTINGS = {KEPT: "1", RETURNED: "0"}
SWEEP = {
    "name": "allocator",
    "benchmark": {"name": "glyphs", "image_size": 28, "examples": 40},
    "episode": {"way": 5, "shot": 1, "query": 5},
    "evaluation": {"selection_tasks": 20, "report_tasks": 20},
    "resources": {"cpu": 1},
}
# Of 5 classes with 5 + 15 images each.
TASKS = 4
IMAGES = 100 * TASKS


def main() -> None:
    """Print a table: training without what starts and ends a process, and the whole process."""
    print(f"memory kept by the allocator: {hardware()}, 1 thread, {ROUNDS} rounds")
    measured: dict[str, list[tuple[float, ...]]] = {name: [] for name in SETTINGS}
    snapshots = set[bytes]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            # In turn first and second, so that neither always follows the other.
            for name in [*SETTINGS][:: 1 if number % 2 else -1]:
                run = Path(folder, f"{name}{number}")
                whole = _trial(run, STEPS, SETTINGS[name])
                start = _trial(Path(folder, f"start-{run.name}"), 1, SETTINGS[name])
                step = [1e3 * (whole[i] - start[i]) / (STEPS - 1) / IMAGES for i in (0, 1)]
                measured[name].append((*step, *whole))
                snapshots.add(next(run.glob("**/*.safetensors")).read_bytes())
    assert len(snapshots) == 1, "the snapshots differ"
    print(
        f"\n| steps of {IMAGES} images: freed memory | user + sys ms an image | clock ms an image "
        "| whole process: user + sys s | sys s | peak MiB |\n|---|---|---|---|---|---|"
    )
    for name, rounds in measured.items():
        each, clocks, total, _, system, peak = zip(*rounds, strict=True)
        cells = [f"{statistics.median(v):.2f}, {min(v):.2f}" for v in (each, clocks, total)]
        ends = f"{statistics.median(system):.2f} | {statistics.median(peak):.0f}"
        print(f"| {name}: median, least | {' | '.join(cells)} | {ends} |")
    pairs = [*zip(measured[KEPT], measured[RETURNED], strict=True)]
    spreads = [_spread(sorted(a[i] / b[i] for a, b in pairs)) for i in (0, 1, 2, 4, 5)]
    print(f"| ratio | {' | '.join(spreads)} |")


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"


def _trial(run: Path, steps: int, setting: str) -> tuple[float, float, float, float]:
    """Seconds of the processor, of the clock, and in the kernel; peak MiB."""
    method = {
        "learner": {"name": "protonet"},
        "backbone": {"name": "conv4", "width": 64},
        "optimizer": {"lr": 0.1},
        "epochs": 1,
        "batches": steps,
        "train": {"way": 5, "shot": 5, "query": 15, "tasks_per_batch": TASKS},
    }
    file, log = run.with_suffix(".yaml"), run.with_suffix(".log")
    file.write_text(yaml.safe_dump({**SWEEP, "methods": {"PN": method}}))
    program = [sys.executable, "-m", "fsl_sweep", "trial", file, "--index", "0", "-o", run]
    began = time.perf_counter()
    with log.open("wb") as output:
        environment = {**os.environ, SWITCH: setting}
        process = subprocess.Popen(program, stdout=output, stderr=output, env=environment)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, log.read_text()
    return used.ru_utime + used.ru_stime, seconds, used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
