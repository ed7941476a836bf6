"""A private folder for one Ray session, removed with it, and the processes that belong to it.

The owner of a folder holds a lock on a file in it. The kernel releases it when the owner dies, and
containers that share the file system see it too. Whoever can take the lock knows that the owner is
dead.
"""

import fcntl
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fsl_sweep.orchestrator.errors import MachineFailure

_PREFIX = "fsl-ray-"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
_OWNER = "owner"
RAYS = "r"
"""Ray's own folder in it. Ray makes it readable for every user; the folder around it is not."""
# The longest path that Ray makes in the folder: it must be short enough for a socket.
_SOCKET = (
    f"/{_PREFIX}01234567/{RAYS}/session_2026-01-31_23-59-59_123456_1234567/sockets/plasma_store"
)
_LONGEST = (107 if sys.platform == "linux" else 103) - len(_SOCKET)
_ROOM = 64 * 2**20
"""Bytes that must be free: Ray's logs and sockets take a few MB."""
_PATIENCE = 60.0
"""Seconds to wait for killed processes to end; only a file system that hangs takes longer."""
_ATTEMPTS = 100
"""How often to try to remove the folder."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """Hold a private folder (0700) for the length of the block, then remove it.

    It is made in the first of ``TMPDIR``, ``/tmp`` and ``/var/tmp`` that has room and a path short
    enough for sockets. Folders whose owners are dead are removed there first, with the processes
    that still belong to them.

    Raises:
        MachineFailure: there is no such place.
    """
    path, lock = _made()
    try:
        yield path
    finally:
        try:
            end_session(path)
        except KeyboardInterrupt:  # a signal arrived meanwhile
            end_session(path)
            raise
        finally:
            os.close(lock)


def end_session(folder: Path, session: int = 0) -> None:
    """Kill every process of a Ray session except this one, and remove the session's folder.

    Args:
        folder: the session's folder.
        session: the POSIX session of its processes, where it is known. It is the only sign of a
            process that is just being started, with no environment and no open file yet.
    """
    deadline, killed = time.monotonic() + _PATIENCE, set[int]()
    while time.monotonic() < deadline:
        living = set(_living_in(folder, session))
        killed |= living
        if not living and not any(map(_runs, killed)):
            break
        for pid in living:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.01)  # another run that sweeps had just put a lock there


def _made() -> tuple[Path, int]:
    reasons: list[str] = []
    for place in dict.fromkeys([os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp"]):  # noqa: S108
        try:
            _sweep(Path(place))
            return _made_in(place)
        except OSError as failure:
            reasons.append(f"{place}: {failure.strerror or failure}")
    raise MachineFailure(
        f"No folder can hold Ray's session ({'; '.join(reasons)}). Make room, or set TMPDIR "
        "to a writable folder with a short path, then run the same command again."
    )


def _made_in(place: str) -> tuple[Path, int]:
    if len(os.fsencode(place)) > _LONGEST:
        raise OSError(f"its path is longer than {_LONGEST} bytes, too long for a socket")
    if (free := shutil.disk_usage(place).free) < _ROOM:
        raise OSError(f"only {free / 2**20:.0f} MB are free")
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))
        with suppress(FileNotFoundError):  # another run swept it before it was locked
            lock = _opened_lock(folder)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _opened_lock(folder: Path) -> int:
    return os.open(folder / _OWNER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _sweep(place: Path) -> None:
    """Remove the folders of dead owners."""
    for name in filter(_NAME.fullmatch, os.listdir(place)):
        folder = place / name
        with suppress(OSError):  # it is in use, another user's, or gone
            foreign = folder.lstat().st_uid != os.geteuid()
            if foreign or not folder.is_dir() or folder.is_symlink():
                continue
            lock = _opened_lock(folder)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                end_session(folder)
            finally:
                os.close(lock)


def _living_in(folder: Path, session: int) -> Iterator[int]:
    """Find processes of the POSIX session, with ``TMPDIR`` there, or writing to files there.

    No sign is enough: some of Ray's processes overwrite their environment with a title, a new one
    has opened no file yet, and the next run does not know the session. Needs Linux.
    """
    mark = b"TMPDIR=" + os.fsencode(folder)
    for entry in Path("/proc").glob("[0-9]*"):
        pid = int(entry.name)
        if pid == os.getpid():
            continue
        with suppress(OSError):  # it has ended, or is another user's
            if (
                (session and os.getsid(pid) == session and _runs(pid))
                or mark in (entry / "environ").read_bytes().split(b"\0")
                or _writes_in(entry, folder)
            ):
                yield pid


def _runs(pid: int) -> bool:
    """Return whether any thread of a process has not ended; its first may end before the others."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                stat = Path(f"/proc/{pid}/task/{thread}/stat").read_text()
                if stat.rpartition(") ")[2][0] not in "ZX":
                    return True
    return False


def _writes_in(process: Path, folder: Path) -> bool:
    real = os.path.realpath(folder)
    for descriptor in os.listdir(process / "fd"):
        with suppress(OSError):
            target = os.readlink(process / "fd" / descriptor)
            if target.startswith(f"{real}/") and target != f"{real}/{_OWNER}":
                text = (process / "fdinfo" / descriptor).read_text()
                flags = int(text.partition("flags:")[2].split()[0], 8)
                if flags & os.O_ACCMODE != os.O_RDONLY:
                    return True
    return False
