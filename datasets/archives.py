"""Reading files out of a folder or a zip, without ever extracting one.

An archive comes from a stranger: members that are absolute, climb out with ``..``, are links or
devices, are encrypted, appear twice or would expand past a bound are refused before anything is
read, and no member is read past the size that it declared.
"""

import os
import stat
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

from fsl_sweep.datasets.pool import canonical_digest
from fsl_sweep.orchestrator.errors import BadData, MissingData

_IGNORED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"})
_DEEPEST = 8


@dataclass(frozen=True)
class Bounds:
    """How much an archive may expand to.

    Attributes:
        members: files.
        member_bytes: in one file.
        total_bytes: in all files together.
    """

    members: int = 5_000_000
    member_bytes: int = 64 * 2**20
    total_bytes: int = 256 * 2**30


@dataclass(frozen=True)
class Member:
    """A file of a tree: its relative path with slashes, size in bytes, CRC-32 where recorded."""

    path: str
    size: int
    crc: int | None = None


class FileTree(ABC):
    """Files by relative path, in a folder or in an archive.

    Attributes:
        where: the folder or archive, for messages.
        members: every file but those that operating systems strew about, sorted by path.
        folders: every folder, empty ones too, sorted.
    """

    where: Path
    members: tuple[Member, ...]
    folders: tuple[str, ...]

    @abstractmethod
    def read(self, member: Member) -> bytes:
        """The content of a file.

        Raises:
            BadData: it cannot be read, or is not what the directory says; names the file.
        """

    def signature(self) -> str:
        """Hex digest of relative names, sizes and recorded CRCs; not of dates or places."""
        return canonical_digest([[m.path, m.size, m.crc] for m in self.members])


@contextmanager
def open_tree(path: Path, bounds: Bounds | None = None) -> Iterator[FileTree]:
    """The files under a folder, or in a zip.

    Raises:
        MissingData: nothing is there.
        BadData: it is neither a folder nor a zip, or is damaged or hostile.
    """
    if path.is_dir():
        yield _Folder(path)
        return
    if not path.exists():
        raise MissingData(f"There is nothing at {path}.")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as failure:
        raise BadData(
            f"{path} is neither a folder nor a readable zip ({failure}); download it again."
        ) from failure
    with archive:
        yield _Zip(path, archive, bounds or Bounds())


@final
class _Folder(FileTree):
    def __init__(self, where: Path) -> None:
        self.where = where
        members: list[Member] = []
        folders: list[str] = []
        try:
            self._walk(where, "", members, folders)
        except OSError as failure:
            raise BadData(f"{failure.filename or where} cannot be read: {failure.strerror}.") from (
                failure
            )
        self.members = tuple(sorted(members, key=lambda member: member.path))
        self.folders = tuple(sorted(folders))

    def read(self, member: Member) -> bytes:
        path = self.where / member.path
        try:
            content = path.read_bytes()
        except OSError as failure:
            raise BadData(f"{path} cannot be read: {failure.strerror}.") from failure
        if len(content) != member.size:
            raise BadData(f"{path} changed while it was being read; prepare the data again.")
        return content

    def _walk(
        self,
        folder: Path,
        relative: str,
        members: list[Member],
        folders: list[str],
    ) -> None:
        # Links are followed, for people link data sets together; a loop of links ends here.
        if relative.count("/") > _DEEPEST:
            raise BadData(
                f"{folder} is more than {_DEEPEST} folders deep; is {self.where} the right folder?"
            )
        with os.scandir(folder) as entries:
            for entry in entries:
                path = f"{relative}{entry.name}"
                if _ignored(path):
                    continue
                if entry.is_dir():
                    folders.append(path)
                    self._walk(folder / entry.name, f"{path}/", members, folders)
                elif entry.is_file():
                    members.append(Member(path, entry.stat().st_size))
                else:
                    raise BadData(f"{folder / entry.name} is a broken link or not a file.")


@final
class _Zip(FileTree):
    def __init__(self, where: Path, archive: zipfile.ZipFile, bounds: Bounds) -> None:
        self.where, self._archive = where, archive
        self._bounds = bounds
        self._infos: dict[str, zipfile.ZipInfo] = {}
        folders: set[str] = set()
        for info in archive.infolist():
            path = self._checked_path(info)
            if _ignored(path):
                continue
            if info.is_dir():
                folders.add(path)
            elif path in self._infos:
                raise self._refused(info.filename, "appears twice")
            else:
                self._infos[path] = info
                folder = path.rpartition("/")[0]
                while folder and folder not in folders:
                    folders.add(folder)
                    folder = folder.rpartition("/")[0]
        self._check_total()
        members = [Member(path, info.file_size, info.CRC) for path, info in self._infos.items()]
        self.members = tuple(sorted(members, key=lambda member: member.path))
        self.folders = tuple(sorted(folders))

    def read(self, member: Member) -> bytes:
        try:
            with self._archive.open(self._infos[member.path]) as file:
                content = file.read(member.size + 1)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            EOFError,
            RuntimeError,
            NotImplementedError,
            ValueError,
        ) as failure:
            raise BadData(
                f"{member.path} in {self.where} cannot be read ({failure}); download it again."
            ) from failure
        if len(content) != member.size:
            raise BadData(
                f"{member.path} in {self.where} is not as long as the archive says; "
                "download it again."
            )
        return content

    def _checked_path(self, info: zipfile.ZipInfo) -> str:
        name = info.filename
        if name.startswith("/") or name[1:2] == ":" or "\\" in name:
            raise self._refused(name, "is an absolute path or holds a backslash")
        parts = name.rstrip("/").split("/")
        if ".." in parts:
            raise self._refused(name, "climbs out of the archive with '..'")
        if "" in parts or "." in parts:
            raise self._refused(name, "is not a plain relative path")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise self._refused(name, "is a link or a device")
        if info.flag_bits & 0x1:
            raise self._refused(name, "is encrypted")
        if info.file_size > self._bounds.member_bytes:
            raise self._refused(name, f"would expand to {info.file_size} bytes")
        return "/".join(parts)

    def _check_total(self) -> None:
        if len(self._infos) > self._bounds.members:
            raise BadData(f"{self.where} holds more than {self._bounds.members} files.")
        total = sum(info.file_size for info in self._infos.values())
        if total > self._bounds.total_bytes:
            raise BadData(f"{self.where} would expand to {total} bytes and is refused.")

    def _refused(self, name: str, problem: str) -> BadData:
        return BadData(f"{self.where} is refused: its member {name!r} {problem}.")


def _ignored(path: str) -> bool:
    parts = path.split("/")
    return not _IGNORED.isdisjoint(parts) or parts[-1].startswith("._")
