"""Files by relative path, in a folder or an archive, and which archives are refused."""

import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.orchestrator.errors import BadData

_LEFT_BEHIND = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"})
_DEEPEST = 32
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
)
"""What ``zipfile`` raises on damaged or unusual archives."""


@dataclass(frozen=True)
class Bounds:
    """How much an archive may expand to: files, bytes in one file, bytes in all of them."""

    members: int = 5_000_000
    member_bytes: int = 64 * 2**20
    total_bytes: int = 256 * 2**30


@dataclass(frozen=True)
class Member:
    """A file of a tree.

    Attributes:
        path: relative, with slashes.
        size: in bytes.
        stamp: what changes with its content, without reading it: the CRC-32 that an archive
            records, else when the file, or the archive, was last changed, in nanoseconds.
    """

    path: str
    size: int
    stamp: int


class FileTree(ABC):
    """What is in a folder or an archive.

    Attributes:
        where: the folder or archive, for messages.
        members: every file, sorted by path, without those that operating systems leave behind.
        folders: every folder, empty ones too, sorted.
    """

    where: Path
    members: list[Member]
    folders: list[str]

    @abstractmethod
    def content(self, member: Member) -> bytes:
        """What is there of a file, or a byte more than its size. Raises some of `UNREADABLE`."""

    def read(self, member: Member) -> bytes:
        """The content of a file.

        Raises:
            BadData: it cannot be read, or has not the size that was listed; names the file.
        """
        problem = "has another size than was listed"
        try:
            content = self.content(member)
            if len(content) == member.size:
                return content
        except UNREADABLE as failure:
            problem = f"cannot be read ({failure})"
        raise BadData(f"{member.path} in {self.where} {problem}; download or copy it again.")

    def signature(self) -> str:
        """Hex digest of relative names, sizes and stamps; not of places."""
        return canonical_digest([[m.path, m.size, m.stamp] for m in self.members])


@dataclass(frozen=True)
class Entry:
    """What an archive says of one of its members.

    Attributes:
        size: in bytes, once expanded.
        handle: what the archive's reader finds the content by.
        problem: why the member is refused, or None.
        stamp: as of `Member`.
    """

    name: str
    size: int
    is_folder: bool
    handle: Any
    problem: str | None
    stamp: int


class ArchiveTree(FileTree):
    """Files in an archive, which comes from a stranger and is never extracted.

    Attributes:
        handles: the handle of each member, by path.

    Raises:
        BadData: a member is absolute, climbs out, is a link or device, appears twice or is too
            large; or they are too many or too large together.
    """

    def __init__(self, where: Path, bounds: Bounds, entries: Iterable[Entry]) -> None:
        self.where = where
        self.handles: dict[str, Any] = {}
        self.members = []
        folders: set[str] = set()
        total = 0
        for entry in entries:
            path = _checked_path(where, entry.name)
            if entry.problem is not None:
                raise _refused(where, entry.name, entry.problem)
            if entry.size > bounds.member_bytes:
                raise _refused(where, entry.name, f"would expand to {entry.size} bytes")
            if left_behind(path):
                continue
            if entry.is_folder:
                folders.add(path)
                continue
            if path in self.handles:
                raise _refused(where, entry.name, "appears twice")
            self.handles[path] = entry.handle
            self.members.append(Member(path, entry.size, entry.stamp))
            total += entry.size
            if len(self.members) > bounds.members:
                raise BadData(f"{where} holds more than {bounds.members} files.")
            if total > bounds.total_bytes:
                raise BadData(f"{where} would expand to {total} bytes and is refused.")
            while (path := path.rpartition("/")[0]) and path not in folders:
                folders.add(path)
        self.members.sort(key=lambda member: member.path)
        self.folders = sorted(folders)


def left_behind(path: str) -> bool:
    """Whether an operating system left the file there, such as ``.DS_Store``."""
    parts = path.split("/")
    return not _LEFT_BEHIND.isdisjoint(parts) or parts[-1].startswith("._")


def _checked_path(where: Path, name: str) -> str:
    """The relative path that a member names, without a slash at its end."""
    parts = name.rstrip("/").split("/")
    if name[1:2] == ":" or "\\" in name or not {"", ".", ".."}.isdisjoint(parts):
        raise _refused(where, name, "is not a plain relative path")
    if len(parts) > _DEEPEST:
        raise _refused(where, f"{name[:40]}...", f"lies more than {_DEEPEST} folders deep")
    return "/".join(parts)


def _refused(where: Path, name: str, problem: str) -> BadData:
    return BadData(f"{where} is refused: its member {name!r} {problem}.")
