"""Reading files out of a folder, a zip or a tar, without extracting the archive.

What an archive may not hold, `ArchiveTree` says. No member is read past the size that it declared.
"""

import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import (
    UNREADABLE,
    ArchiveTree,
    Bounds,
    Entry,
    FileTree,
    Member,
    left_behind,
)
from fsl_sweep.datasets.files.tar import gzip_trailer, is_tar, tar_tree
from fsl_sweep.orchestrator.errors import BadData, MissingData

_DEEPEST = 8


@contextmanager
def open_tree(path: Path, bounds: Bounds | None = None) -> Iterator[FileTree]:
    """The files under a folder, or in a zip, a tar or a tar that gzip compressed.

    Raises:
        MissingData: nothing is there.
        BadData: it is none of these, or is damaged or hostile.
        MachineFailure: there is no room to decompress it.
    """
    if path.is_dir():
        yield _Folder(path)
        return
    if not path.exists():
        raise MissingData(f"There is nothing at {path}.")
    if is_tar(path):
        with tar_tree(path, bounds or Bounds()) as tree:
            yield tree
        return
    try:
        archive = zipfile.ZipFile(path)
    except UNREADABLE as failure:
        raise BadData(
            f"{path} is neither a folder nor a readable zip, tar or tar.gz ({failure}); "
            "download it again."
        ) from failure
    with archive:
        yield _Zip(path, archive, bounds or Bounds())


def tree_signature(path: Path) -> str:
    """Hex digest of what is at a path: relative names, sizes, and stamps as of `Member`.

    For a tar.gz, its size and gzip's own checksum replace them: reading its names would mean to
    decompress it each time that a benchmark is opened.

    Raises:
        As `open_tree`.
    """
    trailer = gzip_trailer(path) if path.is_file() else None
    if trailer is not None:
        return canonical_digest(["gzip", path.stat().st_size, trailer])
    with open_tree(path) as tree:
        return tree.signature()


@final
class _Folder(FileTree):
    def __init__(self, where: Path) -> None:
        self.where = where
        self.members, self.folders = [], []
        try:
            self._walk(where, "")
        except OSError as failure:
            raise BadData(f"{failure.filename or where} cannot be read: {failure.strerror}.") from (
                failure
            )
        self.members.sort(key=lambda member: member.path)
        self.folders.sort()

    def content(self, member: Member) -> bytes:
        return (self.where / member.path).read_bytes()

    def _walk(self, folder: Path, relative: str) -> None:
        # Links are followed, for people link data sets together; a loop of links ends here.
        if relative.count("/") > _DEEPEST:
            raise BadData(
                f"{folder} is more than {_DEEPEST} folders deep; is {self.where} the right folder?"
            )
        with os.scandir(folder) as entries:
            for entry in entries:
                path = f"{relative}{entry.name}"
                if left_behind(path):
                    continue
                if entry.is_dir():
                    self.folders.append(path)
                    self._walk(folder / entry.name, f"{path}/")
                elif entry.is_file():
                    state = entry.stat()
                    self.members.append(Member(path, state.st_size, state.st_mtime_ns))
                else:
                    raise BadData(
                        f"{folder / entry.name} is a broken link or not a file; remove it, or is "
                        f"{self.where} the wrong folder?"
                    )


@final
class _Zip(ArchiveTree):
    def __init__(self, where: Path, archive: zipfile.ZipFile, bounds: Bounds) -> None:
        self._archive = archive
        super().__init__(where, bounds, map(_entry, archive.infolist()))

    def content(self, member: Member) -> bytes:
        with self._archive.open(self.handles[member.path]) as file:
            return file.read(member.size + 1)


def _entry(info: zipfile.ZipInfo) -> Entry:
    problem = None
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        problem = "is a link or a device"
    elif info.flag_bits & 0x1:
        problem = "is encrypted"
    return Entry(info.filename, info.file_size, info.is_dir(), info, problem, info.CRC)
