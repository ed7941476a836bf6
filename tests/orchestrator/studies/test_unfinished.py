"""Every study of an unfinished or damaged run is of its complete seeds, as the report is."""

import json
import shutil
from pathlib import Path

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.replay import folder

MEASURE = {
    "mixture": {"mixture": [0, 0.5, 1], "snapshots": "all"},
    "open": {"evaluation": {"replacement": False, "report_tasks": 60}},
}
STUDIES = [
    ["compare", "RUN", "PN", "RR"],
    ["plan-next", "RUN"],
    ["analyze", "mixtures", "RUN"],
    ["analyze", "base-and-novel", "RUN"],
    ["analyze", "queries", "RUN", "--examples", "12000", "--classes", "20"],
]


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two methods with two configurations and three seeds."""
    path = tmp_path_factory.mktemp("complete") / "run"
    made.with_protocols(path, 200, MEASURE)
    return path


@pytest.fixture
def unfinished(complete: Path, tmp_path: Path) -> Path:
    """The same without a trial of PN with seed 2."""
    path = shutil.copytree(complete, tmp_path / "unfinished")
    trials = Ledger(path).planned().trials
    lost = next(trial for trial in trials if (trial.method, trial.spec.seed) == ("PN", 2))
    shutil.rmtree(path / "trials" / lost.id)
    return path


def shown_by(capsys: pytest.CaptureFixture[str], command: list[str], path: Path) -> tuple[int, str]:
    code = invoke([str(path) if word == "RUN" else word for word in command])
    out, err = capsys.readouterr()
    return code, out + err


@pytest.mark.parametrize("command", STUDIES, ids=lambda command: " ".join(command[:2]))
def test_an_unfinished_run_is_studied_by_its_complete_seeds(unfinished, capsys, command) -> None:
    code, shown = shown_by(capsys, command, unfinished)
    assert code == 1, "incomplete"
    assert "PN" in shown
    assert "left out" not in shown
    assert "PN (2 of 3 seeds)" in shown


def test_an_unfinished_run_has_snapshots_of_its_complete_seeds(unfinished, capsys) -> None:
    """The data of this run are not there, which is found out after both snapshots were chosen."""
    code, shown = shown_by(capsys, ["analyze", "novel-classes", "RUN", "PN", "RR"], unfinished)
    assert code == 2
    assert "No strategy chose" not in shown


@pytest.fixture
def damaged(complete: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of more trials than all files of which are compared, and a damaged file of PN."""
    path = shutil.copytree(complete, tmp_path / "run")
    trials = Ledger(path).planned().trials
    monkeypatch.setattr(folder, "CHECKED", len(trials) - 1)
    hurt = next(trial for trial in trials if (trial.method, trial.spec.seed) == ("PN", 2))
    for file in (path / "trials" / hurt.id).rglob("*.parquet"):
        made.flip(file)
    return path


@pytest.mark.parametrize("command", STUDIES, ids=lambda command: " ".join(command[:2]))
def test_a_damaged_file_of_a_large_run_costs_its_seed(damaged, capsys, command) -> None:
    code, shown = shown_by(capsys, command, damaged)
    assert code == 1
    assert "PN (2 of 3 seeds)" in shown
    assert "fsl-sweep: " not in shown, "it ends the study"


@pytest.mark.parametrize("command", STUDIES, ids=lambda command: " ".join(command[:2]))
def test_both_say_the_same_numbers(unfinished, damaged, capsys, command) -> None:
    both = [shown_by(capsys, [*command, "--json"], path)[1] for path in (unfinished, damaged)]
    assert json.loads(both[0]) == json.loads(both[1])
