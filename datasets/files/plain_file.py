"""What is opened of a stranger: plain files."""

import stat
from pathlib import Path

from fsl_sweep.orchestrator.errors import BadData

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


def check_plain(path: Path) -> None:
    """Check a path before it is opened: a pipe makes its reader wait, a device may have no end.

    A path with nothing behind it, or with a folder, is left to what opens it.

    Raises:
        BadData: a pipe, socket or device is there.
    """
    try:
        status = path.stat()
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise BadData(f"{path} is a {kind_of(status.st_mode)}, not a file; copy it into a file.")
