"""A pytest within this one, for the test files that the documentation shows."""

import os
from pathlib import Path

import pytest


class _Listener:
    """Remembers how each test ended."""

    def __init__(self) -> None:
        self.ended: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ended.setdefault(report.nodeid, set()).add(report.outcome)


def passed(file: Path) -> list[str]:
    """The names of the tests of a file, all of which have to pass."""
    listener, options = _Listener(), ["-q", "-c", os.devnull, "--import-mode=importlib"]
    apart = [f"-pno:{one}" for one in ("cacheprovider", "xdist", "faulthandler")]
    code = pytest.main([*options, *apart, f"--rootdir={file.parent}", str(file)], [listener])
    assert code == 0, listener.ended
    return [name for name, outcomes in listener.ended.items() if outcomes == {"passed"}]
