"""What a report costs: made records in real, compacted run folders, reported by a fresh process.

Targets at 1,000 trials x 60 epochs x 1,000 tasks: 4 s cold, with the files' pages dropped from
memory; 2 s again.
``python -m benchmarks.report --trials 1000`` is the full size (about 0.3 GB of disk).
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.timing import hardware
from fsl_sweep.orchestrator.ledger import columns
from fsl_sweep.orchestrator.ledger.ledger import Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.measured import compacted_name
from fsl_sweep.orchestrator.records.measures import CURVES, MEASURES, SCORE_KEYS
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, Protocol, Tasks
from fsl_sweep.orchestrator.records.spec import Selectors, TrialSpec, configuration_of

METHODS, CONFIGURATIONS, EPOCHS, TASKS, QUERIES = 5, 20, 60, 1000, 75
REPEATS = 3
NO_WEIGHTS = hashlib.sha256(b"").hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """Print seconds of ``fsl-sweep report`` in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--folder", type=Path, help="Keep the made run here, or use the one there.")
    given = parser.parse_args(arguments)
    print(f"report: {given.trials} trials x {given.epochs} epochs x {given.tasks} tasks")
    print(f"  {hardware()}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "run"
        if not folder.is_dir():
            make_run(folder, given.trials, given.epochs, given.tasks)
        size = sum(f.stat().st_size for f in folder.rglob("*.parquet")) / 2**20
        print(f"  records: {size:.0f} MiB")
        for name in ("cold", "again"):
            times = [_cold(folder) if name == "cold" else _seconds(folder) for _ in range(REPEATS)]
            walls, cpus = (sorted(column) for column in zip(*times, strict=True))
            shown = ", ".join(f"{wall:.2f}" for wall in walls)
            print(f"  {name}: {shown} s; {cpus[REPEATS // 2]:.2f} s on a processor (median)")


def make_run(folder: Path, trials: int, epochs: int, tasks: int) -> None:
    """A finished run of made records: methods x configurations x seeds.

    What a sweep leaves, without what it writes on the way: a file for each epoch.
    """
    planned = _plan(trials, epochs)
    counts = Tasks(selection_tasks=tasks, report_tasks=tasks)
    main = PlannedProtocol(MAIN, Protocol(tasks=counts), fingerprint="f00d")
    ledger = Ledger(folder)
    plan = Plan(
        name="made",
        sweep="0" * 16,
        fingerprint="f00d",
        protocols=(main,),
        selectors=Selectors(),
        parts={},
        trials=planned,
    )
    ledger.write_plan(plan, "")
    ledger.folder.write_json("environment.json", {"machines": []})
    for measure, task_set in SCORE_KEYS:
        classes = np.random.default_rng(0).integers(20, size=(tasks, 1)) + np.arange(5)
        name = f"{tasks_folder(main.id)}/{measure}-{task_set}.json"
        ledger.folder.write_json(name, {"classes": classes.tolist()})
    for number, one in enumerate(planned):
        trial, table = ledger.trial(one.id), _table(np.random.default_rng(number), epochs, tasks)
        data, numbers = columns.compacted([table]), list(range(1, epochs + 1))
        curves = dict.fromkeys(CURVES, [0.5] * epochs) | {"train_loss": [1 / e for e in numbers]}
        end = {
            "status": "done",
            "reason": "",
            "retriable": False,
            "epochs": {"epoch": numbers, "snapshot": [NO_WEIGHTS] * epochs, **curves},
            "measured": {main.id: hashlib.sha256(data).hexdigest()},
            "summaries": {main.id: columns.plain_summary(table)},
        }
        trial.begin(one.spec)
        trial.folder.write(compacted_name(main.id), data)
        trial.folder.write_json("pruned.json", {"epochs": numbers})
        trial.folder.write_json("end.json", end, compact=True)


def _plan(trials: int, epochs: int) -> tuple[PlannedTrial, ...]:
    rates = [round(0.1 / (1 + i), 6) for i in range(CONFIGURATIONS)]
    cells = METHODS * CONFIGURATIONS
    if trials % cells:
        raise SystemExit(f"--trials must be a multiple of {cells}, not {trials}.")
    grid = [(m, r, s) for m in range(METHODS) for r in rates for s in range(trials // cells)]
    specs = [(m, r, _spec(m, r, s, epochs)) for m, r, s in grid]
    return tuple(
        PlannedTrial(s.id, f"M{m}", configuration_of(s.canonical()), {"optimizer.lr": r}, s)
        for m, r, s in specs
    )


def _spec(method: int, rate: float, seed: int, epochs: int) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "benchmark": {"name": "glyphs"},
            "learner": {"name": "protonet"},
            "backbone": {"name": "conv4", "width": 16 + method},
            "optimizer": {"lr": rate},
            "schedule": [[0, rate]],
            "epochs": epochs,
            "batches": 1,
            "augment": "none",
            "precision": "fp32",
            "train": {"way": 5},
            "budget": None,
            "seed": seed,
        },
        strict=False,
    )


def _table(generator: np.random.Generator, epochs: int, tasks: int) -> pa.Table:
    """Measurements of one trial's snapshots, of which each measure grows towards its own best."""
    made: dict[str, pa.Array] = {
        "epoch": pa.array(range(1, epochs + 1), pa.int32()),
        "snapshot": pa.array([NO_WEIGHTS] * epochs),
    }
    best = dict(zip(MEASURES, generator.uniform(0.5, 0.8, len(MEASURES)), strict=True))
    offsets = np.arange(epochs + 1, dtype=np.int32) * tasks
    queries = np.full((epochs, tasks), QUERIES)
    for measure, task_set in SCORE_KEYS:
        level = best[measure] * (1 - np.exp(-np.arange(1, epochs + 1)[:, None] / 15))
        # Nearly the binomial distribution, which takes three times as long to draw.
        noise = np.sqrt(QUERIES * level * (1 - level)) * generator.standard_normal((epochs, tasks))
        correct = np.rint(QUERIES * level + noise).clip(0, QUERIES)
        name = f"{measure}_{task_set}"
        made[f"{name}_mean"] = pa.array(correct.sum(axis=1) / (QUERIES * tasks))
        for kind, counts in (("correct", correct), ("queries", queries)):
            flat = counts.ravel().astype(np.uint16)
            made[f"{name}_{kind}"] = pa.ListArray.from_arrays(offsets, flat)
    return pa.table([made[name] for name in columns.SCHEMA.names], schema=columns.SCHEMA)


def _cold(folder: Path) -> tuple[float, float]:
    """As ``_seconds``, where no file is in memory."""
    for path in folder.rglob("*.*"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return _seconds(folder)


def _seconds(folder: Path) -> tuple[float, float]:
    """Wall-clock and processor seconds of one report."""
    program = "import sys; from fsl_sweep.orchestrator.cli import main; main()"
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-c", program, "report", str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])  # of child processes, user and system
    return time.perf_counter() - start, cpu


if __name__ == "__main__":
    main()
