"""A run folder that several test modules copy, and a place for the files of Ray."""

import shutil
import tempfile
from pathlib import Path

import made
import pytest


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of file; copy it before changing anything."""
    return made.every_kind_of_file(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_run: Path) -> Path:
    """A copy of ``whole_run`` in ``run``, in the current folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(whole_run, "run")
    return Path("run")


@pytest.fixture
def place():
    """A folder for temporary files whose path is short enough for Ray's; nothing is left in it."""
    with tempfile.TemporaryDirectory(prefix="fs", dir="/tmp") as folder:
        yield Path(folder)
        assert not [*Path(folder).iterdir()]
