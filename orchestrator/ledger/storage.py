"""Files that appear complete or not at all, in a folder of a local or shared file system.

The folder may come from anybody. Below its root no link is followed and nothing but plain files
is opened, so that nothing outside is read, written or removed, and no pipe makes a reader wait.
"""

import errno
import os
import re
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from fsl_sweep.datasets.files.plain_file import kind_of
from fsl_sweep.orchestrator.errors import Damaged, MachineFailure, folder_error
from fsl_sweep.orchestrator.ledger import envelope

_UNFINISHED = ".unfinished-"
TEMPORARY = re.compile(rf"{re.escape(_UNFINISHED)}[0-9a-f]{{32}}")
_WRITTEN = re.compile(r"tasks|proposals|trials|epochs|measured|snapshots|[0-9a-f]{16}")
"""Folders that files are written into: those of a run, of a trial or protocol by its id."""
_ABSENT = (FileNotFoundError, NotADirectoryError)


@final
@dataclass(frozen=True)
class Folder:
    """A folder of small files, each written completely or not at all.

    Names are relative, with ``/`` between parts. Every failure of the file system is raised with
    the path and what to do: as MachineFailure where the disk is full or fails, else as
    RunFolderError. A link, or anything but a plain file or folder, is raised as Damaged.

    Attributes:
        root: the folder that a user named; it may be a link, or be reached through links.
        inside: where below the root this folder is, with ``/``.
        standing: the root exists: if it vanishes, it is not made again.
    """

    root: Path
    inside: str = ""
    standing: bool = False

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.root, self.place(name), self.standing)

    @property
    def path(self) -> Path:
        """Return the folder's path."""
        return self.root / self.inside

    def place(self, name: str) -> str:
        """Return where a file is below the root; its checksum covers this besides its content."""
        return f"{self.inside}/{name}" if self.inside else name

    def write(self, name: str, data: bytes) -> None:
        """Put ``data`` under ``name``, replacing what was there, completely or not at all."""
        with _reported(self, name, "written"):
            try:
                if not self.standing:
                    self.root.mkdir(parents=True, exist_ok=True)
                path = self._path_of(name, make=True)
                write_complete(path, data)
                _flush(path.parent)
            except FileNotFoundError as failure:
                if not self.standing:
                    raise
                raise MachineFailure(
                    f"The run folder {self.root} is gone: it was deleted or moved. Nothing more "
                    "is written there; restore it, or run the same command to start again."
                ) from failure

    def read(self, name: str) -> bytes | None:
        """Return the bytes under ``name``, or None if there is no such file."""
        with _reported(self, name, "read"):
            try:
                path = self._path_of(name)
                self._check(self.place(name), stat.S_IFREG)
                return path.read_bytes()
            except _ABSENT:
                return None

    def write_sealed(self, name: str, payload: bytes) -> None:
        """Write bytes as ``write`` does, with a checksum."""
        self.write(name, envelope.sealed(payload, self.place(name)))

    def read_sealed(self, name: str) -> bytes | None:
        """Read what ``write_sealed`` was given. Raises Damaged."""
        data = self.read(name)
        return None if data is None else envelope.unsealed(data, self.place(name))

    def write_json(self, name: str, content: Mapping[str, Any], compact: bool = False) -> None:
        """Write an object with its checksum; ``compact`` as of ``sealed_json``."""
        self.write(name, envelope.sealed_json(content, self.place(name), compact))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Read what ``write_json`` was given. Raises Damaged."""
        data, place = self.read(name), self.place(name)
        return None if data is None else envelope.checked_json(data, place)

    def size(self, name: str) -> int:
        """Return the bytes of a file; 0 if it is missing."""
        with _reported(self, name, "read"):
            try:
                return self._path_of(name).lstat().st_size
            except _ABSENT:
                return 0

    def written(self, name: str) -> float | None:
        """Return when a file was written, in seconds since 1970; None if it is missing."""
        with _reported(self, name, "read"):
            try:
                return self._path_of(name).lstat().st_mtime
            except _ABSENT:
                return None

    def names(self) -> list[str]:
        """Return the names of visible files and folders in it, sorted; none if it is missing."""
        return [name for name in self.every_name() if not name.startswith(".")]

    def every_name(self) -> list[str]:
        """Return every name in it, sorted, with temporary and hidden files."""
        with _reported(self, "", "listed"):
            try:
                return sorted(os.listdir(self._path_of("x").parent))
            except _ABSENT:
                return []

    def remove(self, name: str) -> None:
        """Delete one file if it is there."""
        with _reported(self, name, "removed"), suppress(FileNotFoundError):
            self._path_of(name).unlink()

    def move(self, name: str, to: str) -> None:
        """Give a folder another name, at once or not at all. Raises Damaged if it is no folder."""
        with _reported(self, name, "moved"):
            self._check(self.place(name), stat.S_IFDIR)
            source, target = self._path_of(name), self._path_of(to, make=True)
            source.rename(target)
            for folder in (target.parent, source.parent):
                _flush(folder)

    def sweep_unfinished(self) -> None:
        """Delete temporary files that a killed process left where a run writes files."""
        with _reported(Folder(self.root), "", "cleaned"):
            for place, folders, files in os.walk(self.root):
                folders[:] = filter(_WRITTEN.fullmatch, folders)
                for name in filter(TEMPORARY.fullmatch, files):
                    Path(place, name).unlink(missing_ok=True)

    def _path_of(self, name: str, make: bool = False) -> Path:
        """Return a file's path. Raises Damaged where a folder on the way is a link or no folder."""
        path = self.place(name)
        folders = path.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            place = "/".join(folders[:depth])
            if make:
                with suppress(FileExistsError):
                    (self.root / place).mkdir()
            self._check(place, stat.S_IFDIR)
        return self.root / path

    def _check(self, place: str, wanted: int) -> None:
        mode = os.lstat(f"{self.root}/{place}").st_mode
        if stat.S_IFMT(mode) != wanted:
            raise Damaged(place, f"it is a {kind_of(mode)}, not a {kind_of(wanted)}")


def write_complete(path: Path, data: bytes) -> None:
    """Put ``data`` under a path; what was there stays until all of it is on the disk.

    What is there is replaced and not written into: a link's target stays as it is.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    temporary = path.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _flush(folder: Path) -> None:
    """Wait until a folder has reached the disk: only then a rename in it is durable."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    except OSError as failure:
        if failure.errno != errno.EINVAL:  # a file system that cannot do so for folders
            raise
    finally:
        os.close(opened)


@contextmanager
def _reported(folder: Folder, name: str, action: str) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure,
            f"{folder.path / name} could not be {action}: {reason}. What was recorded before is "
            "intact; free disk space or correct the permissions, then run the same command again.",
        ) from failure
