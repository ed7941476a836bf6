"""What is opened of a stranger: plain files, of a bounded size."""

import stat
from pathlib import Path

from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import on_disk

_KINDS = {
    stat.S_IFLNK: "symbolic link",
    stat.S_IFDIR: "folder",
    stat.S_IFREG: "file",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
}


def kind_of(mode: int) -> str:
    """Say in words what a file's mode says that it is."""
    return _KINDS.get(stat.S_IFMT(mode), "device")


def check_plain(path: Path, most_bytes: int | None = None) -> None:
    """Check a path before it is opened: a pipe makes its reader wait, a device may have no end.

    A path with nothing behind it, or with a folder, is left to what opens it.

    Raises:
        BadData: a pipe, socket or device is there, or a file of more than ``most_bytes``.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise BadData(f"{path} is a {kind_of(status.st_mode)}, not a file; copy it into a file.")
    if most_bytes is not None and status.st_size > most_bytes:
        size, most = on_disk(status.st_size), on_disk(most_bytes)
        raise BadData(f"{path} has {size}, and no file of its kind has more than {most}.")
