"""The plug-in of the documentation, installed apart, tested, listed and used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = "import sys; from fsl_sweep.orchestrator.cli import main; main()"
LOGS = """method,configuration,seed,epoch,measure,accuracy
A,,0,1,val,0.1
A,,0,2,val,0.9
A,,0,3,val,0.1
A,,0,4,val,0.6
A,,0,5,val,0.7
"""


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


def run(installed: Path, *command: str) -> subprocess.CompletedProcess[str]:
    places = [str(installed), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, cwd=installed
    )


@pytest.mark.slow
def test_its_own_tests_pass(installed: Path) -> None:
    file = ROOT / "docs" / "example-plugin" / "test_fsl_sweep_steady.py"
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull]
    done = run(installed, "-m", "pytest", *options, str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.slow
def test_it_is_listed_with_its_distribution(installed: Path) -> None:
    done = run(installed, "-c", COMMAND, "plugins", "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("smoothed-val", "near-best-val"):
        (line,) = [line for line in done.stdout.splitlines() if f" {name} " in line]
        assert "fsl-sweep-steady" in line


@pytest.mark.slow
def test_a_report_uses_it(installed: Path, tmp_path: Path) -> None:
    header, *rows = LOGS.replace("A,,", "A,only,").splitlines()
    others = [row.replace(",val,", f",{measure},") for row in rows for measure in ("base", "novel")]
    table = tmp_path / "logs.csv"
    table.write_text("\n".join([header, *rows, *others]) + "\n")
    chosen = ["--snapshot", "smoothed-val", "--hyperparameter", "near-best-val"]
    done = run(installed, "-c", COMMAND, "report", str(table), *chosen, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert '"epoch": 5' in done.stdout
    assert '"source": "fsl-sweep-steady"' in done.stdout
    without = subprocess.run(
        [sys.executable, "-c", COMMAND, "report", str(table), *chosen],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )
    assert without.returncode == 2
    assert "unknown snapshot selector 'smoothed-val'" in without.stderr
