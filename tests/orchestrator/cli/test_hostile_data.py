"""Hostile and damaged sources through ``data prepare``: one error, and nothing left anywhere.

What else is refused is tested with the readers of archives, class folders, images and features.
"""

import io
import zipfile
from pathlib import Path

import hostile
import numpy as np
import pytest
from PIL import Image

PNG = io.BytesIO()
Image.new("RGB", (8, 8)).save(PNG, "PNG")
TREE = {f"c{number // 3}/{number % 3}.png": PNG.getvalue() for number in range(15)}
"""Five classes of three images."""


def folder(where: Path) -> Path:
    """The tree with an image that breaks off."""
    for name, content in TREE.items():
        (where / name).parent.mkdir(exist_ok=True)
        (where / name).write_bytes(content[:40] if name == "c3/1.png" else content)
    return where


def zipped(where: Path, file: str = "s.zip") -> Path:
    """The tree with a member that climbs out, and is read last."""
    with zipfile.ZipFile(where / file, "w") as archive:
        for name, content in {**TREE, "../escaped.png": b"x"}.items():
            archive.writestr(name, content)
    return where / file


def both_parts(where: Path) -> Path:
    for part in ("images_background", "images_evaluation"):
        zipped(where, f"{part}.zip")
    return where


def pickled(where: Path) -> Path:
    labels = np.array([{}] * 6, dtype=object)
    np.savez(where / "f.npz", features=np.ones((6, 3)), labels=labels)
    return where / "f.npz"


@pytest.mark.parametrize(
    ("name", "make"),
    [
        *(("image-folder", make) for make in (folder, zipped)),
        *(("omniglot", both_parts), ("features", pickled)),
    ],
)
def test_a_hostile_source_is_one_error_and_leaves_nothing(
    name, make, tmp_path, monkeypatch, refused, snapshot
):
    home, work = tmp_path / "home", tmp_path / "work"
    monkeypatch.setenv("FSL_SWEEP_HOME", str(home))
    (work / "source").mkdir(parents=True)
    monkeypatch.chdir(work)
    path = make(work / "source")
    before = hostile.state(work)
    said = refused("data", "prepare", name, "--from", path)
    assert str(path) in said
    assert said.replace(str(work), "WORK") == snapshot
    assert hostile.state(work) == before
    assert {p.name for p in tmp_path.iterdir()} <= {"work", "home"}
    left = [p for p in home.rglob("*") if p.is_file() or p.parent.name == "datasets"]
    assert all(p.name.endswith(".lock") for p in left)
