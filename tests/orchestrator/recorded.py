"""Finished run folders, a trial for each learning rate and seed."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import made
import numpy as np

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import MEASURES, TASK_SETS, EpochRecord, TaskScores
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol, Protocol, Tasks
from fsl_sweep.orchestrator.records.spec import Optimizer, TrialSpec

TASKS = 6


def protocol(tasks: int = TASKS, fingerprint: str | None = "f00d") -> PlannedProtocol:
    counts = Tasks(selection_tasks=tasks, report_tasks=tasks)
    return PlannedProtocol(MAIN, Protocol(tasks=counts), fingerprint=fingerprint)


def spec(lr: float, seed: int) -> TrialSpec:
    update = {"optimizer": Optimizer(lr=lr), "schedule": [(0, lr)]}
    return made.spec(seed).model_copy(update=update)


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
    specs = [spec(lr, seed) for lr, seed in product(lrs, seeds)]
    axes = {"optimizer.lr"} if len(lrs) > 1 else set()
    planned = tuple(
        replace(made.planned(one, name), hyperparameters=dict.fromkeys(axes, one.optimizer.lr))
        for name, one in product(methods, specs)
    )
    ledger, main = Ledger(path), protocol(tasks, fingerprint)
    plan = made.plan(*planned, name=path.name)
    plan = replace(plan, fingerprint=fingerprint, protocols=(main,), cautions=cautions)
    ledger.write_plan(plan, "")
    for one in specs:
        storage = ledger.trial(one.id)
        rng = np.random.default_rng([int(1000 * one.optimizer.lr), one.seed, shift])
        storage.begin(one)
        for epoch in (1, 2, 3):
            scores = {
                pair: TaskScores(rng.integers(20, 60, tasks), np.full(tasks, 75))
                for pair in product(MEASURES, TASK_SETS)
            }
            record = EpochRecord(epoch, 1 / epoch, 0.1, scores, 1.0, 0.5)
            storage.write_epoch(record, main.id, b"weights")
        storage.end(made.DONE, main.id)
    return path
