import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def place():
    """A folder for temporary files whose path is short enough for Ray's; nothing is left in it."""
    with tempfile.TemporaryDirectory(prefix="fs", dir="/tmp") as folder:
        yield Path(folder)
        assert not [*Path(folder).iterdir()]
