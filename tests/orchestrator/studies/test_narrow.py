"""Tables of studies on a terminal of 80 columns."""

import io
import re
from pathlib import Path

import made
import pytest

from fsl_sweep.orchestrator.cli import invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("narrow") / "run"
    open_tasks = {"evaluation": {"replacement": False, "report_tasks": 60}}
    mixtures = {"mixture": [0, 0.5, 1]}
    measure = {"60-report-tasks-without-replacement": open_tasks, "m": mixtures}
    made.with_protocols(path, 1200, measure, seeds=(0, 1, 2))
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["plan-next", "RUN", "--effect", "0.01"],
        ["compare", "RUN", "PN", "RR"],
        ["coverage", "RUN", "--base", "64", "--novel", "20", "--train-tasks", "100000"],
        ["analyze", "queries", "RUN", "--examples", "12000", "--classes", "20"],
        ["analyze", "mixtures", "RUN"],
    ],
)
def test_every_row_fits(folder, monkeypatch, command) -> None:
    monkeypatch.setattr("sys.stdout", terminal := io.StringIO())
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert invoke([str(folder) if one == "RUN" else one for one in command]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 80, terminal.getvalue()
    assert any("  " in line.strip() for line in lines), "a table, not blocks"
