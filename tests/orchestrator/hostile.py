"""What a stranger may put in a file's place."""

import os
import socket
from pathlib import Path

KINDS = ("link", "broken link", "pipe", "socket", "folder")


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
