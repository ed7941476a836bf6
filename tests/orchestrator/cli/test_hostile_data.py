"""Hostile and damaged sources through ``data prepare``: one error, and nothing left anywhere.

A case is a benchmark, what makes the source under a folder (and gives its path), and what the
message says; one line in ``CASES`` adds one.
"""

import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fsl_sweep.orchestrator.cli import invoke

MEGABYTE = 2**20


def png(value: int = 0) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8), (value, value, value)).save(stream, "PNG")
    return stream.getvalue()


def tree(path: str = "c0/0.png", content: bytes = png()) -> dict[str, bytes]:
    """Five classes of three images, one of the files with other content."""
    files = {f"c{c}/{i}.png": png(20 * c + i) for c in range(5) for i in range(3)}
    return {**files, path: content}


def folder(files: dict[str, bytes], *empty: str) -> Callable[[Path], Path]:
    def make(where: Path) -> Path:
        for name, content in files.items():
            (where / name).parent.mkdir(parents=True, exist_ok=True)
            (where / name).write_bytes(content)
        for name in empty:
            (where / name).mkdir()
        return where

    return make


def zipped(*members: tuple[str, bytes, int]) -> Callable[[Path], Path]:
    """A zip of the tree and members (name, content, file mode)."""

    def make(where: Path) -> Path:
        with zipfile.ZipFile(where / "s.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in tree().items():
                archive.writestr(name, content)
            for name, content, mode in members:
                info = zipfile.ZipInfo("placeholder")
                info.filename, info.external_attr = name, mode << 16
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, content)
        return where / "s.zip"

    return make


def tarred(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"x", link: str = ""
) -> Callable[[Path], Path]:
    """A tar.gz of the tree and one member."""

    def make(where: Path) -> Path:
        with tarfile.open(where / "s.tar.gz", "w:gz") as archive:
            for path, pixels in tree().items():
                info = tarfile.TarInfo(path)
                info.size = len(pixels)
                archive.addfile(info, io.BytesIO(pixels))
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, link
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
        return where / "s.tar.gz"

    return make


def cut(make: Callable[[Path], Path], share: float) -> Callable[[Path], Path]:
    """The same file, broken off."""

    def cut(where: Path) -> Path:
        path = make(where)
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        return path

    return cut


def features(**changes: np.ndarray) -> Callable[[Path], Path]:
    def make(where: Path) -> Path:
        arrays = {"features": np.ones((6, 3)), "labels": np.arange(6), **changes}
        np.savez(where / "f.npz", **arrays)
        return where / "f.npz"

    return make


def both_parts(where: Path) -> Path:
    for part in ("images_background", "images_evaluation"):
        with zipfile.ZipFile(where / f"{part}.zip", "w") as archive:
            archive.writestr("../escaped.png", b"x")
    return where


FOLDER = "image-folder"
NOTHING = bytes(65 * MEGABYTE)
CASES = {
    "zip climbs out": (FOLDER, zipped(("../escaped.png", b"x", 0)), "is not a plain relative path"),
    "zip climbs out later": (
        FOLDER,
        zipped(("a/../../escaped.png", b"x", 0)),
        "is not a plain relative path",
    ),
    "zip absolute": (FOLDER, zipped(("/tmp/escaped.png", b"x", 0)), "is not a plain relative path"),
    "zip link": (
        FOLDER,
        zipped(("c0/link.png", b"/etc/passwd", stat.S_IFLNK | 0o777)),
        "is a link or a device",
    ),
    "zip bomb": (FOLDER, zipped(("c0/bomb.png", NOTHING, 0)), "would expand to"),
    "zip cut": (FOLDER, cut(zipped(), 0.7), "neither a folder nor a readable zip"),
    "tar climbs out": (FOLDER, tarred("../escaped.png"), "is not a plain relative path"),
    "tar absolute": (FOLDER, tarred("/tmp/escaped.png"), "is not a plain relative path"),
    "tar link": (FOLDER, tarred("c0/l.png", tarfile.SYMTYPE, link="/etc/passwd"), "link"),
    "tar hard link": (FOLDER, tarred("c0/l.png", tarfile.LNKTYPE, link="../x"), "link"),
    "tar device": (FOLDER, tarred("c0/d.png", tarfile.BLKTYPE), "device"),
    "tar pipe": (FOLDER, tarred("c0/d.png", tarfile.FIFOTYPE), "device"),
    "tar bomb": (FOLDER, tarred("c0/bomb.png", content=NOTHING), "would expand to"),
    "tar cut": (FOLDER, cut(tarred("c0/x.png", content=png()), 0.7), "s.tar.gz"),
    "truncated image": (FOLDER, folder(tree("c3/1.png", png()[:40])), "c3/1.png cannot be decoded"),
    "not an image": (FOLDER, folder(tree("c3/1.png", b"#!/bin/sh")), "c3/1.png cannot be decoded"),
    "empty image": (FOLDER, folder(tree("c3/1.png", b"")), "c3/1.png cannot be decoded"),
    "empty class": (FOLDER, folder(tree(), "c9"), "c9 holds no images"),
    "other files": (FOLDER, folder(tree("notes")), "is not an image"),
    "two classes of one name": (
        FOLDER,
        folder({f"{top}/{c}/1.png": png() for top in "xy" for c in ("cat", top)}),
        "are called 'cat'",
    ),
    "omniglot climbs out": ("omniglot", both_parts, "is not a plain relative path"),
    "pickled features": (
        "features",
        features(labels=np.array([{}] * 6, dtype=object)),
        "Object arrays cannot be loaded",
    ),
    "features are not numbers": (
        "features",
        features(features=np.full((6, 3), np.nan)),
        "Row 0 of the features",
    ),
    "features cut": ("features", cut(features(), 0.6), "is not a readable .npz"),
    "features of one name": (
        "features",
        features(names=np.array(list("aabcde"))),
        "two classes 'a'",
    ),
    "features empty class": (
        "features",
        features(names=np.array(list("abcdefg"))),
        "labels are not all the numbers from 0 to 6",
    ),
}


def everything(where: Path) -> dict[Path, bytes | None]:
    return {p: p.read_bytes() if p.is_file() else None for p in sorted(where.rglob("*"))}


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_source_is_one_error_and_leaves_nothing(case, tmp_path, monkeypatch, capsys):
    name, make, message = CASES[case]
    monkeypatch.setenv("FSL_SWEEP_HOME", str(tmp_path / "home"))
    (tmp_path / "work" / "source").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    path = make(tmp_path / "work" / "source")
    before = everything(tmp_path / "work")
    code = invoke(["data", "prepare", name, "--from", str(path)])
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert message in shown.err
    assert str(path) in shown.err
    assert shown.err.count("\n") == 1
    assert "Traceback" not in shown.err
    assert everything(tmp_path / "work") == before
    assert {p.name for p in tmp_path.iterdir()} <= {"work", "home"}
    assert not Path("/tmp/escaped.png").exists()
    left = [p for p in (tmp_path / "home").rglob("*") if p.is_file() or p.parent.name == "datasets"]
    assert all(p.name.endswith(".lock") for p in left)
