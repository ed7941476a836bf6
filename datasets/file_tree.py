"""Files by relative path, wherever they lie, and what makes a path of them hostile."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from fsl_sweep.datasets.pool import canonical_digest
from fsl_sweep.orchestrator.errors import BadData

_STREWN = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"})
_DEEPEST = 32


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


def checked_path(where: Path, name: str) -> str:
    """The relative path that an archive's member names, without a slash at its end.

    Raises:
        BadData: it is absolute, climbs out of the archive, or is not plain.
    """
    if name.startswith("/") or name[1:2] == ":" or "\\" in name:
        raise refused(where, name, "is an absolute path or holds a backslash")
    parts = name.rstrip("/").split("/")
    if ".." in parts:
        raise refused(where, name, "climbs out of the archive with '..'")
    if "" in parts or "." in parts:
        raise refused(where, name, "is not a plain relative path")
    if len(parts) > _DEEPEST:
        raise refused(where, f"{name[:40]}...", f"lies more than {_DEEPEST} folders deep")
    return "/".join(parts)


def refused(where: Path, name: str, problem: str) -> BadData:
    """The error for an archive with a member that is not to be trusted."""
    return BadData(f"{where} is refused: its member {name!r} {problem}.")


def strewn(path: str) -> bool:
    """Whether an operating system left that file where people did not ask for it."""
    parts = path.split("/")
    return not _STREWN.isdisjoint(parts) or parts[-1].startswith("._")


def folders_above(path: str) -> list[str]:
    """``a/b`` and ``a`` for ``a/b/c``."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
