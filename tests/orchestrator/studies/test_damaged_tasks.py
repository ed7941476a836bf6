"""A damaged file of class tuples is named by what reads it, and changes nothing else in silence."""

import shutil
from pathlib import Path

import made
import pytest

from fsl_sweep import load_run
from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.ledger.ledger import Ledger


@pytest.fixture
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a run with one bit changed in the classes of its novel report tasks."""
    path = shutil.copytree(request.getfixturevalue(request.param), tmp_path / "run")
    made.flip(file_of(path))
    return path


def file_of(run: Path) -> Path:
    return run / f"tasks/{Ledger(run).planned().main.id}/novel-report.json"


@pytest.mark.parametrize("damaged", ["measured"], indirect=True)
@pytest.mark.parametrize("study", ["plan-next", "analyze mixtures"])
def test_what_a_study_leaves_out_is_said(damaged: Path, study: str, measured: Path, capsys) -> None:
    assert invoke([*study.split(), str(measured)]) == 0
    whole = capsys.readouterr()
    assert (whole.out.count("classes") > 0, whole.err) == (True, "")
    assert invoke([*study.split(), str(damaged)]) == 0
    named = file_of(damaged).relative_to(damaged)
    assert f"{named} is damaged: " in capsys.readouterr().err


@pytest.mark.parametrize("damaged", ["few_drawn"], indirect=True)
def test_a_study_that_needs_them_and_a_report_name_it(damaged: Path, refused) -> None:
    named = f"{file_of(damaged).relative_to(damaged)} is damaged: "
    assert refused("coverage", damaged).startswith(named)
    report = load_run(damaged).report()
    assert any(caution.startswith(named) for caution in report.cautions)
    assert report.info.classes["novel"] == () != report.info.classes["val"]
