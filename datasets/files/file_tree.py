"""Files by relative path, in a folder or an archive, and which archives are refused."""

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.orchestrator.errors import BadData

_LEFT_BEHIND = frozenset({".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX"})
_DEEPEST = 8
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
    member_bytes: int = 2**30
    total_bytes: int = 256 * 2**30


@dataclass(frozen=True)
class Member:
    """A file of a tree.

    Attributes:
        path: relative, with slashes.
        size: in bytes, once expanded.
        stamp: what changes with its content, without reading it: the CRC-32 that an archive
            records, else when the file, or the archive, was last changed, in nanoseconds.
        handle: what an archive's reader finds the content by.
    """

    path: str
    size: int
    stamp: int
    handle: Any = None


@dataclass(frozen=True)
class FileTree:
    """What is in a folder or an archive.

    Attributes:
        where: the folder or archive, for messages.
        members: every file, sorted by path, without those that operating systems leave behind.
        content: what is there of a file, or a byte more than its size; raises `UNREADABLE`.
    """

    where: Path
    members: list[Member]
    content: Callable[[Member], bytes]

    def read(self, member: Member) -> bytes:
        """Read the content of a file.

        Raises:
            BadData: it cannot be read, or has not the size that was listed; names the file.
        """
        problem, cause = "does not have the size that was listed", None
        try:
            content = self.content(member)
            if len(content) == member.size:
                return content
        except UNREADABLE as failure:
            problem, cause = f"cannot be read ({failure})", failure
        message = f"{member.path} in {self.where} {problem}; download or copy it again."
        raise BadData(message) from cause

    def signature(self) -> str:
        """Digest relative names, sizes and stamps, not places; hex."""
        return canonical_digest([[m.path, m.size, m.stamp] for m in self.members])


Entry = tuple[Member, bool, str | None]
"""A member under the name that its archive has, whether it is a folder, and why it is refused."""


def archive_tree(
    where: Path, bounds: Bounds, entries: Iterable[Entry], content: Callable[[Member], bytes]
) -> FileTree:
    """List the files of an archive, which comes from a stranger.

    Raises:
        BadData: a member is absolute, climbs out, is a link or device, appears twice or is too
            large; or they are too many or too large together.
    """
    files: dict[str, Member] = {}
    total = 0
    for entry, is_folder, problem in entries:
        path = _checked_path(where, entry.path)
        if entry.size > bounds.member_bytes:
            problem = problem or f"would expand to {entry.size} bytes"
        if path in files:
            problem = problem or "appears twice"
        if problem is not None:
            raise _refused(where, entry.path, problem)
        if is_folder or _left_behind(path):
            continue
        files[path] = Member(path, entry.size, entry.stamp, entry.handle)
        total += entry.size
        if len(files) > bounds.members:
            raise BadData(f"{where} holds more than {bounds.members} files.")
        if total > bounds.total_bytes:
            raise BadData(f"{where} would expand to {total} bytes and is refused.")
    return FileTree(where, [files[path] for path in sorted(files)], content)


def folder_tree(where: Path) -> FileTree:
    """List the files under a folder. Raises BadData if it cannot be read, or a link is broken."""
    try:
        members = sorted(_walk(where, ""), key=lambda member: member.path)
    except OSError as failure:
        problem = f"{failure.filename or where} cannot be read: {failure.strerror}."
        raise BadData(problem) from failure
    return FileTree(where, members, lambda member: (where / member.path).read_bytes())


def _walk(where: Path, relative: str) -> Iterator[Member]:
    folder = where / relative
    # Links are followed, for people link data sets together; a loop of links ends here.
    if relative.count("/") > _DEEPEST:
        raise BadData(
            f"{folder} is more than {_DEEPEST} folders deep; is {where} the right folder?"
        )
    with os.scandir(folder) as entries:
        for entry in entries:
            path = f"{relative}{entry.name}"
            if _left_behind(path):
                continue
            if entry.is_dir():
                yield from _walk(where, f"{path}/")
            elif entry.is_file():
                state = entry.stat()
                yield Member(path, state.st_size, state.st_mtime_ns)
            else:
                raise BadData(
                    f"{folder / entry.name} is a broken link or not a file; remove it, or is "
                    f"{where} the wrong folder?"
                )


def _left_behind(path: str) -> bool:
    """Tell whether an operating system left the file there, such as ``.DS_Store``."""
    parts = path.split("/")
    return not _LEFT_BEHIND.isdisjoint(parts) or parts[-1].startswith("._")


def _checked_path(where: Path, name: str) -> str:
    """Return the relative path that a member names, without a slash at its end."""
    parts = name.rstrip("/").split("/")
    if name[1:2] == ":" or "\\" in name or not {"", ".", ".."}.isdisjoint(parts):
        raise _refused(where, name, "is not a plain relative path")
    return "/".join(parts)


def _refused(where: Path, name: str, problem: str) -> BadData:
    return BadData(f"{where} is refused: its member {name!r} {problem}.")
