"""Runs that the studies are tried on: measured, trained, unfinished; and their mistakes."""

import json
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import made
import pytest
from commands import TINY, finished

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
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


MEASURE = {
    "mixture": {"mixture": [0, 0.5, 1], "snapshots": "all"},
    "open": {"evaluation": {"replacement": False, "report_tasks": 60}},
}


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods with two configurations and three seeds, whole, under further protocols too."""
    path = tmp_path_factory.mktemp("measured") / "run"
    made.with_protocols(path, 60, MEASURE)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods with two seeds, trained in this process, with weights."""
    text = TINY.replace("{grid: [1, 2]}", "1")
    return finished(tmp_path_factory.mktemp("trained") / "run", text)


@pytest.fixture
def unfinished(measured: Path, tmp_path: Path) -> Path:
    """The measured run without the trial of PN with seed 2 that is chosen."""
    path = shutil.copytree(measured, tmp_path / "unfinished")
    shutil.rmtree(path / "trials" / load_run(path).chosen("PN")[2].snapshot.trial)
    return path


@pytest.fixture
def plain(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Call a study: its JSON."""

    def plain(*arguments: object, code: int = 0) -> Any:
        assert invoke([*map(str, arguments), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return plain


@pytest.fixture
def mistakes(refused: Callable[..., str]) -> Callable[..., str]:
    """Call a study with each line of arguments, all of them mistakes: with its message beneath."""

    def mistakes(command: str, run: Path, lines: str) -> str:
        said = []
        for line in lines.strip().splitlines():
            words = [
                str(run) if word == "RUN" else word for word in shlex.split(f"{command} {line}")
            ]
            said.append(f"{line.strip()}\n    {refused(*words)}".replace(str(run), "RUN"))
        return "\n".join(said)

    return mistakes
