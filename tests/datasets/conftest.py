import re
from pathlib import Path

import numpy as np
import pytest
from pools import pool_of, write_files, write_zip
from pydantic import ValidationError

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.errors import FslSweepError


@pytest.fixture
def pool() -> ImagePool:
    """Six classes with 12, 13, ... images of 1 x 4 x 4 random pixels."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(6), np.arange(12, 18)))
    images = rng.integers(0, 256, (len(labels), 1, 4, 4), dtype=np.uint8)
    return pool_of(images, labels, [f"class {c}" for c in range(6)])


@pytest.fixture
def write_tree(tmp_path):
    """Writes {relative path: content} as a folder or a zip."""

    def write(files: dict[str, bytes], name="source", zipped=False) -> Path:
        if zipped:
            return write_zip(tmp_path / f"{name}.zip", files)
        return write_files(tmp_path / name, files)

    return write


@pytest.fixture
def opened(tmp_path):
    """Opens a benchmark from a place, with options; prepared data is kept under tmp_path."""
    home = tmp_path / "home"
    return lambda name, root=None, **options: open_benchmark(name, options, root, home)


@pytest.fixture
def refused(tmp_path):
    """Calls what has to fail, and gives the error's kind and message, to compare with a snapshot.

    Without what another machine or release of a library would say: the temporary folder is TMP,
    and the message of an error that ours was raised from is ``...``.
    """

    def refused(call, *arguments, **options) -> str:
        with pytest.raises(FslSweepError) as caught:
            call(*arguments, **options)
        cause, text = caught.value.__cause__, f"{caught.typename}: {caught.value}"
        if cause is not None and str(cause):
            shown = cause.errors()[0]["msg"] if isinstance(cause, ValidationError) else str(cause)
            text = "...".join(text.rsplit(shown, 1))
        return re.sub(rf"{re.escape(str(tmp_path.parent))}/[\w-]+", "TMP", text)

    return refused


@pytest.fixture
def refusals(write_tree, opened, refused):
    """What a benchmark says, by case, of files that differ from good ones; None leaves one out."""

    def refusals(name, cases, good=None, **options) -> dict[str, str]:
        messages = {}
        for case, changes in cases.items():
            files = {**(good or {}), **changes}
            files = {path: content for path, content in files.items() if content is not None}
            root = write_tree(files, re.sub(r"\W+", "-", case))
            root.mkdir(exist_ok=True)
            messages[case] = refused(opened, name, root, **options)
        return messages

    return refusals
