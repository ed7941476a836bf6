"""Hostile and damaged sources through ``data prepare``: one error, and nothing left anywhere.

What else is refused is tested with the readers of archives, class folders, images and features.
"""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


def tree() -> dict[str, bytes]:
    """Five classes of three images."""
    files = {}
    for number in range(15):
        stream = io.BytesIO()
        Image.new("RGB", (8, 8), (number,) * 3).save(stream, "PNG")
        files[f"c{number // 3}/{number % 3}.png"] = stream.getvalue()
    return files


def folder(where: Path) -> Path:
    """The tree with an image that breaks off."""
    for name, content in tree().items():
        (where / name).parent.mkdir(exist_ok=True)
        (where / name).write_bytes(content[:40] if name == "c3/1.png" else content)
    return where


def zipped(where: Path, file: str = "s.zip") -> Path:
    """The tree with a member that climbs out, and is read last."""
    with zipfile.ZipFile(where / file, "w") as archive:
        for name, content in {**tree(), "../escaped.png": b"x"}.items():
            archive.writestr(name, content)
    return where / file


def tarred(where: Path) -> Path:
    """The tree with a link."""
    with tarfile.open(where / "s.tar.gz", "w:gz") as archive:
        for name, content in tree().items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("c0/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return where / "s.tar.gz"


def both_parts(where: Path) -> Path:
    for part in ("images_background", "images_evaluation"):
        zipped(where, f"{part}.zip")
    return where


def pickled(where: Path) -> Path:
    labels = np.array([{}] * 6, dtype=object)
    np.savez(where / "f.npz", features=np.ones((6, 3)), labels=labels)
    return where / "f.npz"


def everything(where: Path) -> dict[Path, bytes | None]:
    return {p: p.read_bytes() if p.is_file() else None for p in sorted(where.rglob("*"))}


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("image-folder", folder, "c3/1.png cannot be decoded"),
        ("image-folder", zipped, "is not a plain relative path"),
        ("image-folder", tarred, "link"),
        ("omniglot", both_parts, "is not a plain relative path"),
        ("features", pickled, "Object arrays cannot be loaded"),
    ],
)
def test_a_hostile_source_is_one_error_and_leaves_nothing(
    name, make, message, tmp_path, monkeypatch, refused
):
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    (tmp_path / "work" / "source").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    path = make(tmp_path / "work" / "source")
    before = everything(tmp_path / "work")
    said = refused("data", "prepare", name, "--from", path)
    assert message in said
    assert str(path) in said
    assert everything(tmp_path / "work") == before
    assert {p.name for p in tmp_path.iterdir()} <= {"work", "home"}
    left = [p for p in (tmp_path / "home").rglob("*") if p.is_file() or p.parent.name == "datasets"]
    assert all(p.name.endswith(".lock") for p in left)
