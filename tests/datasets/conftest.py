import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from places import REAL_DATA
from pools import encoded

from fsl_sweep.datasets.pool import ImagePool


@pytest.fixture
def pool() -> ImagePool:
    """Six classes with 12, 13, ... images of 1 x 4 x 4 random pixels."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(6), np.arange(12, 18)))
    images = rng.integers(0, 256, (len(labels), 1, 4, 4), dtype=np.uint8)
    return ImagePool.in_memory(images, labels, [f"class {c}" for c in range(6)])


@pytest.fixture
def png():
    """Encodes an image of one colour, or of given uint8 pixels."""

    def encode(value=128, size=(12, 10), mode="RGB") -> bytes:
        if isinstance(value, np.ndarray):
            return encoded(value)
        colour = value if mode != "RGB" else (value, value, value)
        return encoded(np.asarray(Image.new(mode, size, colour)))

    return encode


@pytest.fixture
def write_tree(tmp_path):
    """Writes {relative path: bytes} as a folder or a zip."""

    def write(files: dict[str, bytes], name="source", zipped=False) -> Path:
        if zipped:
            path = tmp_path / f"{name}.zip"
            with zipfile.ZipFile(path, "w") as archive:
                for relative, content in files.items():
                    archive.writestr(relative, content)
            return path
        path = tmp_path / name
        for relative, content in files.items():
            (path / relative).parent.mkdir(parents=True, exist_ok=True)
            (path / relative).write_bytes(content)
        return path

    return write


@pytest.fixture
def real_omniglot() -> Path:
    root = REAL_DATA / "omniglot"
    if not (root / "images_background.zip").exists():
        pytest.skip(f"the real Omniglot is not at {root}: its counts are NOT checked")
    return root
