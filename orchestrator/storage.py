"""Files that appear whole or not at all, in a folder of a local or shared file system.

The folder may come from a stranger. Below its root no link is followed and nothing but plain files
is opened, so that nothing outside is read, written or removed, and no pipe makes a reader wait.
"""

import os
import re
import stat
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

from fsl_sweep.orchestrator import envelope
from fsl_sweep.orchestrator.errors import Damaged, MachineFailure, folder_error

_UNFINISHED = ".unfinished-"
TEMPORARY = re.compile(rf"{re.escape(_UNFINISHED)}[0-9a-f]{{32}}")
_WRITTEN = re.compile(r"tasks|trials|report|epochs|snapshots|[0-9a-f]{16}")
"""Folders that files are written into: those of a run, of a trial by its id, and within one."""
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Stamp(NamedTuple):
    """What changes when a file is written to or replaced: bytes, nanoseconds, number."""

    size: int
    modified: int
    changed: int
    inode: int


@final
@dataclass(frozen=True)
class Folder:
    """A folder of small files, each written whole: temporary name, fsync, rename, fsync folder.

    Names are relative, with ``/`` between parts. Every failure of the file system is raised with
    the path and what to do: as MachineFailure where the disk is full or fails, else as
    RunFolderError; what is a link, or no plain file or folder where one should be, as Damaged.

    Attributes:
        root: the folder that a user named; it may be a link, or be reached through links.
        inside: where below it this folder is, with ``/``; empty for the root itself.
        standing: the root is there: where it has vanished since, it is not made again.
    """

    root: Path
    inside: str = ""
    standing: bool = False

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self.root, self.place(name), self.standing)

    @property
    def path(self) -> Path:
        """The folder's path."""
        return self.root / self.inside

    def place(self, name: str) -> str:
        """Where a file is below the root: what its checksum covers beside its content."""
        return f"{self.inside}/{name}" if self.inside else name

    def write(self, name: str, data: bytes) -> None:
        """Put ``data`` under ``name``, replacing what was there, whole or not at all."""
        *folders, last = self.place(name).split("/")
        temporary = f"{_UNFINISHED}{uuid.uuid4().hex}"
        with _told(self.path / name, "written"), self._vanished_told():
            if not self.standing:
                self.root.mkdir(parents=True, exist_ok=True)
            with self._entered(folders, make=True) as folder:
                try:
                    with open(os.open(temporary, _WRITING, 0o666, dir_fd=folder), "wb") as file:
                        file.write(data)
                        file.flush()
                        os.fsync(file.fileno())
                    os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    with suppress(FileNotFoundError):
                        os.unlink(temporary, dir_fd=folder)
                    raise
                # The rename is durable once the folder's own entry has reached the disk too.
                os.fsync(folder)

    @contextmanager
    def _vanished_told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as failure:
            if not self.standing:
                raise
            raise MachineFailure(
                f"The run folder {self.root} is gone: it was deleted or moved. Nothing more "
                "is written there; put it back, or run the same command to begin anew."
            ) from failure

    def read(self, name: str) -> bytes | None:
        """The bytes under ``name``, or None if there is no such file."""
        *folders, last = self.place(name).split("/")
        with _told(self.path / name, "read"):
            try:
                with self._entered(folders) as folder:
                    descriptor = self._open(last, folder, _READING, folders)
                    with open(descriptor, "rb") as file:
                        return file.read()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write_sealed(self, name: str, payload: bytes) -> None:
        """As ``write``, in an envelope for that place."""
        self.write(name, envelope.sealed(payload, self.place(name)))

    def read_sealed(self, name: str) -> bytes | None:
        """What ``write_sealed`` was given. Raises Damaged where that is not known."""
        data = self.read(name)
        return None if data is None else envelope.unsealed(data, self.place(name))

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """As ``write``, an object with its checksum."""
        self.write(name, envelope.sealed_json(content, self.place(name)))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """What ``write_json`` was given. Raises Damaged where that is not known."""
        data = self.read(name)
        return None if data is None else envelope.unsealed_json(data, self.place(name))

    def stamp(self, name: str) -> Stamp | None:
        """What tells of a change of a file, or None if there is no such file."""
        *folders, last = self.place(name).split("/")
        with _told(self.path / name, "read"):
            try:
                with self._entered(folders) as folder:
                    found = os.stat(last, dir_fd=folder, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                return None
            return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)

    def names(self) -> list[str]:
        """Names of the finished files and folders in this folder, sorted; empty if it is not."""
        return [name for name in self.every_name() if not name.startswith(".")]

    def every_name(self) -> list[str]:
        """Names of all that is in this folder, sorted, temporaries and hidden files as well."""
        with _told(self.path, "listed"):
            try:
                with self._entered(self.inside.split("/") if self.inside else []) as folder:
                    return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def remove(self, name: str) -> None:
        """Delete one file if it is there."""
        *folders, last = self.place(name).split("/")
        with (
            _told(self.path / name, "removed"),
            suppress(FileNotFoundError),
            self._entered(folders) as folder,
        ):
            os.unlink(last, dir_fd=folder)

    def sweep_unfinished(self) -> None:
        """Delete temporaries that a killed process left below the root, where files are written."""
        with _told(self.root, "cleaned"):
            for _, folders, files, at in os.fwalk(self.root.resolve(), follow_symlinks=False):
                folders[:] = filter(_WRITTEN.fullmatch, folders)
                for name in filter(TEMPORARY.fullmatch, files):
                    with suppress(FileNotFoundError):
                        os.unlink(name, dir_fd=at)

    @contextmanager
    def _entered(self, folders: Sequence[str], make: bool = False) -> Iterator[int]:
        """A descriptor of a folder below the root, reached part by part without any link."""
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for depth, part in enumerate(folders):
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = self._open(part, descriptor, _READING | os.O_DIRECTORY, folders[:depth])
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _open(self, name: str, folder: int, flags: int, folders: Sequence[str]) -> int:
        """A file or folder in an opened one. Raises Damaged where it is something else."""
        wanted = stat.S_IFDIR if flags & os.O_DIRECTORY else stat.S_IFREG
        try:
            descriptor = os.open(name, flags, dir_fd=folder)
            mode = os.fstat(descriptor).st_mode
            if stat.S_IFMT(mode) == wanted:
                return descriptor
            os.close(descriptor)
        except OSError:  # of a link, a pipe, a socket, each system has its own error
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if stat.S_IFMT(mode) == wanted:
                raise
        wants = "folder" if wanted == stat.S_IFDIR else "file"
        raise Damaged("/".join([*folders, name]), f"it is a {kind_of(mode)}, not a {wants}")


_KINDS = {
    stat.S_IFLNK: "symbolic link",
    stat.S_IFDIR: "folder",
    stat.S_IFREG: "file",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
}


def kind_of(mode: int) -> str:
    """What a file's mode says that it is, in words."""
    return _KINDS.get(stat.S_IFMT(mode), "device")


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
