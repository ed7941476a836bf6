"""Runs whose data are there, and whose tasks draw few of the classes."""

from dataclasses import replace
from pathlib import Path

import made
import pytest

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import open_benchmarks, opened_plan
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import Episode, Protocol, Tasks
from fsl_sweep.orchestrator.upkeep.recording import write_tasks

GLYPHS = {
    **{"base_alphabets": 3, "val_alphabets": 1, "novel_alphabets": 2},
    **{"classes_per_alphabet": 5, "examples": 12, "image_size": 16},
}


@pytest.fixture(scope="session")
def few_drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """15 base classes, and 10 novel ones of 12 examples; tasks draw at most 8 of either."""
    return _run(tmp_path_factory.mktemp("few") / "run", "glyphs")


@pytest.fixture(scope="session")
def in_distribution(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """15 classes, which are base and novel; tasks draw at most 8 of either."""
    return _run(tmp_path_factory.mktemp("same") / "run", "in-distribution:glyphs", fresh=True)


def _run(path: Path, benchmark: str, **options: object) -> Path:
    """Of three planned epochs one trial recorded one, the other two."""
    trained_on = Named(name=benchmark, **GLYPHS, **options)
    specs = [made.spec(seed).model_copy(update={"benchmark": trained_on}) for seed in (0, 1)]
    tasks = Tasks(selection_tasks=2, report_tasks=2)
    protocol = Protocol(episode=Episode(way=2, shot=1, query=1), tasks=tasks)
    plan = made.plan(*map(made.planned, specs))
    plan = replace(plan, protocols=(replace(plan.main, protocol=protocol),))
    benchmarks = open_benchmarks(plan)
    plan = opened_plan(plan, benchmarks)
    ledger = Ledger(path)
    ledger.write_plan(plan, "name: made\n")
    write_tasks(ledger, plan, plan.protocols, benchmarks)
    for number, trial in enumerate(plan.trials):
        storage = ledger.trial(trial.id)
        storage.begin(trial.spec)
        for epoch in range(1, 2 + number):
            record = made.protocol_record(plan.main, epoch, number)
            storage.write_epoch(record, plan.main.id, b"weights")
        storage.end(TrialEnd("budget", "it was spent"), plan.main.id)
    return path
