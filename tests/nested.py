"""A pytest within this one, for the test files that the documentation shows."""

import os
from pathlib import Path
from types import ModuleType

import pytest


def passed(file: Path) -> list[str]:
    """The names of the tests of a file, all of which have to pass."""
    listener, ended = ModuleType("listener"), {}
    listener.pytest_runtest_logreport = lambda report: ended.setdefault(report.nodeid, []).append(
        report.outcome
    )
    apart = [f"-pno:{plugin}" for plugin in ("cacheprovider", "xdist", "faulthandler")]
    options = ["-q", "-c", os.devnull, "--import-mode=importlib", f"--rootdir={file.parent}"]
    assert pytest.main([*options, *apart, str(file)], [listener]) == 0, ended
    return [name for name, outcomes in ended.items() if set(outcomes) == {"passed"}]
