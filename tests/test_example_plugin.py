"""The plug-in of the documentation, installed apart, tested, listed and used."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nested
import pytest
from places import ROOT

from fsl_sweep.orchestrator.cli import invoke
from fsl_sweep.orchestrator.testing.study import made_table


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the plug-in, as ``pip install`` leaves it."""
    # From a copy: setuptools leaves build folders beside what it builds.
    source = tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(ROOT / "docs" / "example-plugin", source)
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", *options]
    done = subprocess.run(
        [*pip, "--target", str(target), str(source)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.slow
def test_its_own_tests_pass(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed))
    assert nested.passed(ROOT / "docs" / "example-plugin" / "test_fsl_sweep_steady.py")


def test_it_is_listed_and_its_study_is_a_command_once_it_is_installed(
    installed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = ["analyze", "spread-over-seeds", str(made_table(tmp_path / "logs.csv"))]
    assert invoke(study) == 2
    assert "unknown study 'spread-over-seeds'; " in capsys.readouterr().err
    monkeypatch.syspath_prepend(str(installed))
    assert invoke([*study, "--method", "A", "--json"]) == 0
    (spread,) = json.loads(capsys.readouterr().out)
    assert (spread["method"], spread["seeds"]) == ("A", 3)
    assert 0 < spread["range"] < 1
    assert invoke([*study, "--fewest", "4"]) == 2
    assert capsys.readouterr().err == "fsl-sweep: No method has 4 complete seeds.\n"
    assert invoke(["plugins", "--check"]) == 0
    out = capsys.readouterr().out
    for name in ("smoothed-val", "near-best-val", "spread-over-seeds"):
        (line,) = [line for line in out.splitlines() if f" {name} " in line]
        assert "fsl-sweep-steady" in line
    assert invoke(["analyze", "--help"]) == 0
    assert re.search(
        r"^  spread-over-seeds +A plug-in of fsl-sweep-steady.$", capsys.readouterr().out, re.M
    )
    assert invoke(["analyze", "spread-over-seeds", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Show the range of NovelGen over the seeds of each method." in out
    assert "--fewest N Fewest seeds of a method that is shown. " in out
