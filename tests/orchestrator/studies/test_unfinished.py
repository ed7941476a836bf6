"""Every study of an unfinished or damaged run is of its complete seeds, as the report is."""

import io
import json
import re
import shutil
from pathlib import Path

import made
import pytest
from recorded import run_folder

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.replay import folder

QUERIES = ["analyze", "queries", "RUN", "--examples", "12000", "--classes", "20"]
COVERAGE = ["coverage", "RUN", "--base", "64", "--novel", "20", "--train-tasks", "100000"]
STUDIES = [
    ["compare", "RUN", "PN", "RR"],
    ["plan-next", "RUN", "--effect", "0.01"],
    ["analyze", "mixtures", "RUN"],
    ["analyze", "base-and-novel", "RUN"],
    QUERIES,
]


def shown_by(capsys: pytest.CaptureFixture[str], command: list[str], path: Path) -> tuple[int, str]:
    code = invoke([str(path) if word == "RUN" else word for word in command])
    return code, "".join(capsys.readouterr())


@pytest.fixture
def damaged(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """More trials than all files of which are compared, and a damaged file of PN with seed 2."""
    path = shutil.copytree(measured, tmp_path / "damaged")
    monkeypatch.setattr(folder, "CHECKED", len(load_run(path).histories) - 1)
    hurt = load_run(path).chosen("PN")[2].snapshot.trial
    for file in (path / "trials" / hurt).rglob("*.parquet"):
        made.flip(file)
    return path


@pytest.mark.parametrize("command", STUDIES, ids=lambda command: " ".join(command[:2]))
def test_a_missing_and_a_damaged_trial_cost_their_seed(
    unfinished, damaged, capsys, command
) -> None:
    plain = []
    for path in (unfinished, damaged):
        code, shown = shown_by(capsys, command, path)
        assert code == 1, "incomplete"
        assert "PN (2 of 3 seeds)" in shown
        assert "left out" not in shown
        assert "fsl-sweep: " not in shown, "it ends the study"
        plain.append(json.loads(shown_by(capsys, [*command, "--json"], path)[1]))
    assert plain[0] == plain[1]


def test_an_unfinished_run_has_snapshots_of_its_complete_seeds(unfinished, capsys) -> None:
    """The data of this run are not there, which is found out after both snapshots were chosen."""
    code, shown = shown_by(capsys, ["analyze", "novel-classes", "RUN", "PN", "RR"], unfinished)
    assert code == 2
    assert "No strategy chose" not in shown


@pytest.mark.parametrize("command", [*STUDIES, COVERAGE], ids=lambda words: " ".join(words[:2]))
def test_every_row_fits_a_terminal_of_80_columns(measured, monkeypatch, command) -> None:
    monkeypatch.setattr("sys.stdout", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert invoke([str(measured) if word == "RUN" else word for word in command]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 80, terminal.getvalue()
    assert any("  " in line.strip() for line in lines), "a table, not blocks"


@pytest.mark.parametrize(
    "study",
    [{"name": "plan-next"}, {"name": "novel-classes", "a": "PN", "b": "RR", "trial_seed": 1}],
)
def test_the_command_that_says_what_is_missing_can_be_pasted(tmp_path: Path, study) -> None:
    path = tmp_path / "my run"
    run_folder(path, (0.1,), (0, 1), tasks=20, methods=("PN", "RR"))
    for trial in {history.trial for history in load_run(path).histories if history.seed == 1}:
        (path / "trials" / trial / "end.json").unlink()
    with pytest.raises(RunFolderError, match=re.escape(f"`fsl-sweep status '{path}'` says what")):
        load_run(path).study(**study)
