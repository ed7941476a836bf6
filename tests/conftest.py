import gc
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# One thread a process: with pytest-xdist there is a process a core.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test leaves features beside the prepared data of whoever runs it.
os.environ.setdefault("FSL_SWEEP_FEATURE_CACHE", "0")

# The same examples each time, however slow the machine; `--hypothesis-profile=default
# --hypothesis-seed=1` draws others.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.load_profile("suite")

# Garbage is looked for less often: of four thousand tests that takes a twentieth of the time.
gc.set_threshold(10_000)

# Test modules share helpers (`made`): their folders are importable, without becoming packages.
for folder in (".", "learners", "orchestrator"):
    sys.path.insert(0, str(Path(__file__).parent / folder))


@pytest.fixture(scope="session", autouse=True)
def _disk_is_not_waited_for():
    """No test cuts the power: what a kill leaves is the same without ``fsync``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group a module's tests, so that they share its fixtures, and those that start Ray.

    Two of them at once would share the cores of the machine. They come first, then modules with
    slow tests, then those with many, so that at the end no process is left with a long one while
    the others have nothing to do.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in slow, -sizes[item.path]))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group").args != ("ray",))
