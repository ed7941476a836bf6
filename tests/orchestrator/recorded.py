"""Finished run folders, written once and copied."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import (
    MEASURES,
    TASK_SETS,
    EpochRecord,
    TaskScores,
    TrialEnd,
)
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, Protocol, Tasks
from fsl_sweep.orchestrator.records.spec import Selectors, TrialSpec

TASKS = 6


def protocol(tasks: int = TASKS, fingerprint: str | None = "f00d") -> PlannedProtocol:
    counts = Tasks(selection_tasks=tasks, report_tasks=tasks)
    return PlannedProtocol(MAIN, Protocol(tasks=counts), fingerprint=fingerprint)


def spec(lr: float, seed: int) -> TrialSpec:
    return TrialSpec.from_canonical(
        {
            "benchmark": {"name": "glyphs"},
            "learner": {"name": "protonet"},
            "backbone": {"name": "conv4"},
            "optimizer": {"lr": lr},
            "schedule": [[0, lr]],
            "epochs": 3,
            "batches": 1,
            "augment": "none",
            "precision": "fp32",
            "train": {"way": 5},
            "budget": None,
            "seed": seed,
        }
    )


def run_folder(
    path: Path,
    lrs: tuple[float, ...],
    seeds: tuple[int, ...],
    *,
    fingerprint: str | None = "f00d",
    tasks: int = TASKS,
    shift: int = 0,
    methods: tuple[str, ...] = ("PN",),
    cautions: tuple[str, ...] = (),
) -> Path:
    """A finished run whose records are a function of lr and seed (and of ``shift``)."""
    specs = [spec(lr, seed) for lr in lrs for seed in seeds]
    axes = {"optimizer.lr"} if len(lrs) > 1 else set()
    planned = tuple(
        PlannedTrial(one.id, name, one.configuration, dict.fromkeys(axes, one.optimizer.lr), one)
        for name in methods
        for one in specs
    )
    main = protocol(tasks, fingerprint)
    plan = Plan(
        path.name, "0" * 16, fingerprint, planned, (main,), Selectors(), {}, cautions=cautions
    )
    Ledger(path).write_plan(plan, "")
    shutil.copytree(_trials(lrs, seeds, tasks, shift, main.id), path, dirs_exist_ok=True)
    return path


@cache
def _trials(
    lrs: tuple[float, ...], seeds: tuple[int, ...], tasks: int, shift: int, main: str
) -> Path:
    path = Path(tempfile.mkdtemp(prefix="recorded-")) / "run"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    for lr in lrs:
        for seed in seeds:
            one = spec(lr, seed)
            trial = Ledger(path).trial(one.id)
            generator = np.random.default_rng([int(1000 * lr), seed, shift])
            trial.begin(one)
            for epoch in (1, 2, 3):
                queries = np.full(tasks, 75)
                scores = {
                    (m, s): TaskScores(generator.integers(20, 60, tasks), queries)
                    for m in MEASURES
                    for s in TASK_SETS
                }
                record = EpochRecord(epoch, 1 / epoch, 0.1, scores, 1.0, 0.5)
                trial.write_epoch(record, main, b"weights")
            trial.end(TrialEnd("done"), main)
    return path
