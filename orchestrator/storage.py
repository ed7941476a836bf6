"""Files that appear whole or not at all, in a folder of a local or shared file system."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from fsl_sweep.orchestrator.errors import MachineFailure, folder_error

_UNFINISHED = ".unfinished-"


class Stamp(NamedTuple):
    """What changes when a file is written to or replaced: bytes, nanoseconds, number."""

    size: int
    modified: int
    changed: int
    inode: int


class Folder:
    """A folder of small files, each written whole: temporary name, fsync, rename, fsync folder.

    Names are relative, with ``/`` between parts. Every failure of the file system is raised with
    the path and what to do: as MachineFailure where the disk is full or fails, else as
    RunFolderError.

    Args:
        path: the folder; made when it is first written to.
        standing: a folder above it, or itself, that is there already and never made again.
    """

    def __init__(self, path: Path, standing: Path | None = None) -> None:
        self.path, self._standing = path, standing

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.path / name, self._standing)

    def write(self, name: str, data: bytes) -> None:
        """Put ``data`` under ``name``, replacing what was there, whole or not at all."""
        target = self.path / name
        temporary = target.parent / f"{_UNFINISHED}{uuid.uuid4().hex}"
        with _told(target, "written"), self._standing_told():
            self._make(target.parent)
            try:
                with temporary.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            _sync(target.parent)

    @contextmanager
    def _standing_told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as failure:
            if self._standing is None:
                raise
            raise MachineFailure(
                f"The run folder {self._standing} is gone: it was deleted or moved. Nothing more "
                "is written there; put it back, or run the same command to begin anew."
            ) from failure

    def _make(self, folder: Path) -> None:
        """Make a folder, but nothing above the one that stands."""
        if self._standing is None:
            folder.mkdir(parents=True, exist_ok=True)
            return
        inside = folder.relative_to(self._standing)
        for part in [*reversed(inside.parents), inside][1:]:
            (self._standing / part).mkdir(exist_ok=True)

    def read(self, name: str) -> bytes | None:
        """The bytes under ``name``, or None if there is no such file."""
        with _told(self.path / name, "read"):
            try:
                return (self.path / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def stamp(self, name: str) -> Stamp | None:
        """What tells of a change of a file, or None if there is no such file."""
        with _told(self.path / name, "read"):
            try:
                found = (self.path / name).stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    def names(self) -> list[str]:
        """Names of the finished files and folders in this folder, sorted; empty if it is not."""
        with _told(self.path, "listed"):
            try:
                return sorted(n for n in os.listdir(self.path) if not n.startswith("."))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def remove(self, name: str) -> None:
        """Delete one file if it is there."""
        with _told(self.path / name, "removed"):
            (self.path / name).unlink(missing_ok=True)

    def sweep_unfinished(self) -> None:
        """Delete temporaries that a killed process left, in this folder and all below it."""
        with _told(self.path, "cleaned"):
            for file in self.path.rglob(f"{_UNFINISHED}*"):
                file.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Make a rename durable: the folder's own entry has to reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _told(path: Path, action: str) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure,
            f"{path} could not be {action}: {reason}. What was recorded before is intact; "
            "make room or mend the permissions, then run the same command again.",
        ) from failure
