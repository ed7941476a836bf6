"""Reading files out of a tar, or of one that gzip compressed, without ever extracting it.

The archive's headers are gone through once, under the same suspicion as a zip's directory: a
member that is absolute, climbs out, is a link or a device, appears twice or is too large refuses
the archive. A tar has no checksums of its own; gzip's is verified while the headers are read.
"""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, final

from fsl_sweep.datasets.file_tree import (
    Bounds,
    FileTree,
    Member,
    checked_path,
    folders_above,
    refused,
    strewn,
)
from fsl_sweep.datasets.indexed_gzip import IndexedGzip
from fsl_sweep.orchestrator.errors import BadData

_MAGIC = b"\x1f\x8b"
_BLOCK = tarfile.BLOCKSIZE
_HEADER_BYTES = 2**20
_OVERHEAD = 4 * _BLOCK  # of a member: its header, a long name's, and what fills its last block


def is_tar(path: Path) -> bool:
    """Whether a file begins as a tar or as a gzip file does.

    Raises:
        BadData: it cannot be read.
    """
    with _opened(path) as file:
        block = file.read(_BLOCK)
    if block.startswith(_MAGIC):
        return True
    try:
        tarfile.TarInfo.frombuf(block, tarfile.ENCODING, "surrogateescape")
    except tarfile.TarError:
        return False
    return True


def gzip_trailer(path: Path) -> str | None:
    """Checksum and length at the end of a gzip file, hex; None for another file.

    Raises:
        BadData: it cannot be read.
    """
    with _opened(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        file.seek(max(0, path.stat().st_size - 8))
        return file.read(8).hex()


@contextmanager
def tar_tree(path: Path, bounds: Bounds) -> Iterator[FileTree]:
    """The files of a tar or tar.gz.

    Raises:
        BadData: it is damaged or hostile.
    """
    with _opened(path) as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            most_bytes = bounds.total_bytes + (bounds.members + 20) * _OVERHEAD
            yield _Tar(path, IndexedGzip(path, file, most_bytes), bounds)
        else:
            yield _Tar(path, file, bounds)


@final
class _Tar(FileTree):
    def __init__(self, where: Path, file: BinaryIO | IndexedGzip, bounds: Bounds) -> None:
        self.where, self._file = where, file
        self._places: dict[str, int] = {}
        members: list[Member] = []
        folders: set[str] = set()
        total = 0
        for info in _headers(where, file):
            path = _checked(where, info, bounds)
            if path is None or strewn(path):
                continue
            if info.isdir():
                folders.add(path)
                continue
            if path in self._places:
                raise refused(where, info.name, "appears twice")
            self._places[path] = info.offset_data
            members.append(Member(path, info.size))
            total += info.size
            _check_bounds(where, len(members), total, bounds)
            if path.rpartition("/")[0] not in folders:
                folders.update(folders_above(path))
        self.members = tuple(sorted(members, key=lambda member: member.path))
        self.folders = tuple(sorted(folders - {""}))

    def read(self, member: Member) -> bytes:
        try:
            self._file.seek(self._places[member.path])
            content = self._file.read(member.size)
        except OSError as failure:
            raise BadData(
                f"{member.path} in {self.where} cannot be read ({failure}); download it again."
            ) from failure
        if len(content) != member.size:
            raise BadData(f"{member.path} in {self.where} breaks off; download it again.")
        return content


@final
class _HeaderReader(io.RawIOBase):
    """What ``tarfile`` reads headers from: never much at once, whatever length one announces."""

    def __init__(self, where: Path, file: BinaryIO | IndexedGzip) -> None:
        super().__init__()
        self._where, self._file = where, file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _HEADER_BYTES:
            raise BadData(f"{self._where} is refused: a header in it announces {size} bytes.")
        return self._file.read(size)

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or position < 0:
            raise BadData(f"{self._where} is refused: a header in it points out of the file.")
        return self._file.seek(position)

    def tell(self) -> int:
        return self._file.tell()


def _headers(where: Path, file: BinaryIO | IndexedGzip) -> Iterator[tarfile.TarInfo]:
    """Every member's header, in the archive's order; then the rest, so that gzip's sum is met."""
    file.seek(0)
    last = -1
    try:
        with tarfile.TarFile(fileobj=_HeaderReader(where, file), mode="r") as archive:
            while (info := archive.next()) is not None:
                # Bounds memory; typeshed does not know this list of all headers so far.
                archive.members.clear()  # pyright: ignore[reportAttributeAccessIssue]
                if info.size < 0 or info.offset <= last:
                    raise refused(where, info.name, "lies before the one that precedes it")
                last = info.offset
                yield info
            end = archive.offset
    except (tarfile.TarError, OSError, ValueError, RecursionError) as failure:
        raise BadData(f"{where} is not a readable tar ({failure}); download it again.") from failure
    file.seek(end)
    # A header that cannot be read ends an archive for tarfile as the mark of its end does.
    block = file.read(_BLOCK)
    if len(block) != _BLOCK or any(block):
        raise BadData(f"{where} breaks off or is damaged at byte {end}; download it again.")
    if isinstance(file, IndexedGzip):
        while file.read(_HEADER_BYTES):
            pass


def _checked(where: Path, info: tarfile.TarInfo, bounds: Bounds) -> str | None:
    """A member's path; None for the folder that the archive was made of."""
    name = info.name
    if name in (".", "./", "") and info.isdir():
        return None
    path = checked_path(where, name.removeprefix("./"))
    if info.isdir():
        return path
    if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise refused(where, name, "is a link or a device")
    if info.issparse():
        raise refused(where, name, "has holes")
    if info.size > bounds.member_bytes:
        raise refused(where, name, f"would expand to {info.size} bytes")
    return path


def _check_bounds(where: Path, members: int, total: int, bounds: Bounds) -> None:
    if members > bounds.members:
        raise BadData(f"{where} holds more than {bounds.members} files.")
    if total > bounds.total_bytes:
        raise BadData(f"{where} would expand to {total} bytes and is refused.")


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as failure:
        raise BadData(f"{path} cannot be read: {failure.strerror}.") from failure
    with file:
        yield file
