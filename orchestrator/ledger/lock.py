"""One run at a time in a run folder."""

import fcntl
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.plain_file import kind_of
from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError, folder_error

BEAT_SECONDS = 15.0
STALE_SECONDS = 120.0


@contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold ``folder/lock`` for the length of the block.

    Within a host the kernel's file lock decides, which ends with its process. Hosts may share the
    folder without sharing file locks: the holder touches the file every 15 seconds, and a holder on
    another host counts as dead where the file's time is not within two minutes of the file system's
    clock. A time in the future is no sign of life either.

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
        _acquire(descriptor, path)
        stop = threading.Event()
        beat = threading.Thread(target=_beat, args=(descriptor, stop), daemon=True)
        beat.start()
        try:
            yield
        finally:
            stop.set()
            beat.join()
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
        if holder.get("host") == socket.gethostname():
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        elif holder and not _is_silent(descriptor, time.time()):
            return _named(holder)
    except BlockingIOError:
        return _named(holder)
    finally:
        os.close(descriptor)
    return None


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


def _acquire(descriptor: int, path: Path) -> None:
    holder = _holder(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _held(path, holder) from None
    if holder.get("host") not in (None, socket.gethostname()):
        with tempfile.TemporaryFile(dir=path.parent) as probe:
            now = os.fstat(probe.fileno()).st_mtime  # by the file system's clock
        if not _is_silent(descriptor, now):
            raise _held(path, holder)
    os.ftruncate(descriptor, 0)
    mine = {"host": socket.gethostname(), "pid": os.getpid()}
    os.pwrite(descriptor, json.dumps(mine).encode(), 0)


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
        os.utime(descriptor)
