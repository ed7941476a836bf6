"""One run at a time in a run folder."""

import errno
import fcntl
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.plain_file import kind_of
from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError, folder_error

BEAT_SECONDS = 15.0
STALE_SECONDS = 120.0
_SETTLE_SECONDS = 1.0
"""From writing to reading again who holds it: much longer than from looking to writing."""
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""What file systems answer that have no file locks: NFS without its lock service, some Lustre."""


@contextmanager
def run_lock(folder: Path, notify: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold ``folder/lock`` for the length of the block.

    Within a host the kernel's file lock decides, which ends with its process. Hosts may share the
    folder without sharing file locks: the holder touches the file every 15 seconds, and a holder on
    another host counts as dead where the file's time is not within two minutes of the file system's
    clock. A time in the future is no sign of life either. Where the file system has no file locks,
    the same holds for every holder.

    Args:
        folder: it is made if it is missing.
        notify: called with a remark where there are no file locks.

    Raises:
        RunFolderError: another run holds the lock (its host and pid are named), or the folder
            cannot be written.
    """
    path = folder / "lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = _opened(path, os.O_RDWR | os.O_CREAT)
    except OSError as failure:
        raise _unwritable(folder, failure) from failure
    try:
        try:
            mine = _acquire(descriptor, path, notify)
        except OSError as failure:
            raise _unwritable(folder, failure) from failure
        stop = threading.Event()
        beat = threading.Thread(target=_beat, args=(descriptor, stop), daemon=True)
        beat.start()
        try:
            yield
        finally:
            stop.set()
            beat.join()
            if _holder(descriptor) == mine:
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def check_writable(folder: Path) -> None:
    """Raise RunFolderError where a run could not write to the folder, or make it.

    It tries, for permissions do not show whether a file system accepts files; nothing is left.
    """
    try:
        place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        os.rmdir(tempfile.mkdtemp(prefix=".fsl-sweep-", dir=place))
    except OSError as failure:
        raise _unwritable(folder, failure) from failure


def holder_of(folder: Path) -> str | None:
    """Say who runs in ``folder`` now (``process 7 on host``), or None. Raises as ``run_lock``."""
    try:
        descriptor = _opened(folder / "lock", os.O_RDONLY)
    except OSError:
        return None
    holder = _holder(descriptor)
    try:
        if _kernel_decides(holder) and _flock(descriptor, fcntl.LOCK_SH):
            return None
        return _named(holder) if holder and not _is_silent(descriptor, time.time()) else None
    except BlockingIOError:
        return _named(holder)
    finally:
        os.close(descriptor)


def _opened(path: Path, flags: int) -> int:
    """Open the lock. Raises RunFolderError where it is a link, or not a file."""
    with suppress(FileNotFoundError):
        status = path.lstat()
        kind = kind_of(status.st_mode)
        if kind == "file" and status.st_nlink > 1:
            kind = "file with several names"
        if kind != "file":
            raise RunFolderError(
                f"{path} is a {kind}, not a file of its own: the folder cannot be locked. "
                "Remove it."
            )
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def _is_silent(descriptor: int, now: float) -> bool:
    return abs(now - os.fstat(descriptor).st_mtime) >= STALE_SECONDS


def _acquire(descriptor: int, path: Path, notify: Callable[[str], None]) -> dict[str, Any]:
    """Write who holds the lock now, and return it. Raises RunFolderError if another does."""
    holder = _holder(descriptor)
    try:
        locked = _flock(descriptor, fcntl.LOCK_EX)
    except BlockingIOError:
        raise _held(path, holder) from None
    if holder.get("host") is not None and not (locked and _kernel_decides(holder)):
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            now = os.fstat(probe.fileno()).st_mtime  # by the file system's clock
        if not _is_silent(descriptor, now):
            raise _held(path, holder)
    mine = {"host": socket.gethostname(), "pid": os.getpid(), "locked": locked}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(mine).encode(), 0)
    if not locked:
        os.fsync(descriptor)
        time.sleep(_SETTLE_SECONDS)
        if (last := _holder(descriptor)) != mine:  # of several that start at once, the last stays
            raise _held(path, last)
        notify(
            f"{path.parent} is on a file system without file locks. A second run is refused by "
            f"the time of its file `{path.name}` alone, and after a kill the next one has to wait "
            f"for {STALE_SECONDS:.0f} seconds."
        )
    return mine


def _flock(descriptor: int, kind: int) -> bool:
    """Take the kernel's lock; return whether there is one. Raises BlockingIOError if it is held."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as failure:
        if failure.errno not in _WITHOUT_LOCKS:
            raise
        return False
    return True


def _kernel_decides(holder: dict[str, Any]) -> bool:
    """Return whether a holder's life shows in the kernel's lock: on this host, if it got one."""
    return holder.get("host") == socket.gethostname() and holder.get("locked", True) is True


def _holder(descriptor: int) -> dict[str, Any]:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0) or b"{}")
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}


def _named(holder: dict[str, Any]) -> str:
    return f"process {holder.get('pid', 'unknown')} on {holder.get('host', 'an unknown host')}"


def _held(path: Path, holder: dict[str, Any]) -> RunFolderError:
    return RunFolderError(
        f"{path.parent} is in use by {_named(holder)}. Wait for it or stop it; if that process no "
        f"longer exists, its lock expires {STALE_SECONDS:.0f} seconds after its last sign of life."
    )


def _unwritable(folder: Path, failure: OSError) -> RunFolderError | MachineFailure:
    return folder_error(
        failure,
        f"The run folder {folder} cannot be written: {failure.strerror}. "
        "Choose another with -o, or correct its permissions.",
    )


def _beat(descriptor: int, stop: threading.Event) -> None:
    while not stop.wait(BEAT_SECONDS):
        with suppress(OSError):  # the next may be in time
            os.utime(descriptor)
