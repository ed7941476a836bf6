"""What may happen to a run folder by accident, or by anybody's will."""

import os
import random
import shutil
import socket
import stat
from collections.abc import Sequence
from pathlib import Path

KINDS = ("link", "broken link", "pipe", "socket", "folder")
HARMS = ("flip", "truncate", "swap", "delete", "junk", *KINDS)


def put(kind: str, path: Path, secret: Path) -> None:
    """Make ``path``, which is not there, something else than a file.

    Args:
        kind: of KINDS; a broken link points at what is not there beside ``secret``.
        path: where to put it.
        secret: a file outside, which is made, and which a link points at.
    """
    secret.write_text("secret")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        bound = socket.socket(socket.AF_UNIX)
        folder = os.open(path.parent, os.O_RDONLY)  # a socket's path has to be short
        bound.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)
        bound.close()
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(secret if kind == "link" else secret.with_name("nowhere"))


def state(folder: Path) -> dict[str, object]:
    """Every name below a folder with what is there, and when it was last written."""
    there: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        mode, times = path.lstat().st_mode, path.lstat().st_mtime_ns
        content = path.read_bytes() if stat.S_ISREG(mode) else None
        there[path.relative_to(folder).as_posix()] = mode, times, content
    return there


def harm(run: Path, rng: random.Random, kinds: Sequence[str] = HARMS) -> tuple[str, str]:
    """Do one harm to one file or folder of a run; give the harm and where."""
    kind = rng.choice(kinds)
    everything = sorted(p for p in run.rglob("*") if p.is_file() and not p.is_symlink())
    # Of a kind of file first: there are many snapshots, and one plan.
    by_kind: dict[str, list[Path]] = {}
    for path in everything:
        by_kind.setdefault(path.name if "tasks" not in path.parts else "tasks", []).append(path)
    path = rng.choice(by_kind[rng.choice(sorted(by_kind))])
    data = bytearray(path.read_bytes())
    if kind == "flip" and data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
    elif kind == "truncate" and data:
        path.write_bytes(data[: rng.randrange(len(data))])
    elif kind == "junk":
        path.write_bytes(rng.choice([b"", b"\0" * 50, b"[" * 5000, b"{}", b"\xff\xfe", b"null"]))
    elif kind == "swap":
        others = [p for p in everything if p != path]
        alike = [p for p in others if p.suffix == path.suffix or rng.random() < 0.2]
        other = rng.choice(alike or others)
        path.write_bytes(other.read_bytes())
        other.write_bytes(data)
    elif kind == "delete":
        path.unlink()
    elif kind in KINDS:
        folders = [p for p in path.relative_to(run).parents if p.name]
        if folders and rng.random() < 0.3:
            path = run / rng.choice(folders)
        outside = run.parent / "outside"
        if path.is_dir() and kind == "link":  # a folder of the run, moved out and linked to
            shutil.copytree(path, outside / "moved")
            shutil.rmtree(path)
            path.symlink_to(outside / "moved")
        else:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            put(kind, path, outside / "secret")
    return kind, path.relative_to(run).as_posix()
