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
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial, Selectors
from fsl_sweep.orchestrator.records.spec import TrialSpec

TASKS = 6


def spec(lr: float, seed: int, tasks: int = TASKS) -> TrialSpec:
    return TrialSpec.from_canonical(
        {
            "benchmark": {"name": "glyphs"},
            "episode": {},
            "evaluation": {"selection_tasks": tasks, "report_tasks": tasks},
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
    specs = [spec(lr, seed, tasks) for lr in lrs for seed in seeds]
    axes = {"optimizer.lr"} if len(lrs) > 1 else set()
    planned = tuple(
        PlannedTrial(one.id, name, one.configuration, dict.fromkeys(axes, one.optimizer.lr), one)
        for name in methods
        for one in specs
    )
    plan = Plan(path.name, "0" * 16, fingerprint, planned, Selectors(), {}, cautions)
    Ledger(path).write_plan(plan, "")
    shutil.copytree(_trials(lrs, seeds, tasks, shift), path, dirs_exist_ok=True)
    return path


@cache
def _trials(lrs: tuple[float, ...], seeds: tuple[int, ...], tasks: int, shift: int) -> Path:
    path = Path(tempfile.mkdtemp(prefix="recorded-")) / "run"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    for lr in lrs:
        for seed in seeds:
            one = spec(lr, seed, tasks)
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
                trial.write_epoch(EpochRecord(epoch, 1 / epoch, 0.1, scores, 1.0, 0.5), b"weights")
            trial.end(TrialEnd("done"))
    return path
