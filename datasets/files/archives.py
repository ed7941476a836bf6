"""Reading files out of a folder, a zip or a tar, without extracting the archive.

What an archive may not hold, `archive_tree` says. No member is read past the size that it declared.
A tar that gzip compressed is first decompressed into a temporary file.
"""

import gzip
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast, final

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import (
    UNREADABLE,
    Bounds,
    Entry,
    FileTree,
    Member,
    archive_tree,
    folder_tree,
)
from fsl_sweep.datasets.files.plain_file import check_plain
from fsl_sweep.orchestrator.errors import BadData, MissingData, folder_error

_MAGIC = b"\x1f\x8b"
_BLOCK = tarfile.BLOCKSIZE
_HEADER_BYTES = 2**20
_OVERHEAD = 4 * _BLOCK  # of a member: its header, a long name's, and what fills its last block
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)


@contextmanager
def open_tree(path: Path, bounds: Bounds | None = None) -> Iterator[FileTree]:
    """Open the files under a folder, or in a zip, a tar or a tar that gzip compressed.

    Raises:
        MissingData: nothing is there.
        BadData: it is none of these, or is damaged or hostile.
        MachineFailure: there is no room to decompress it.
    """
    bounds = bounds or Bounds()
    if path.is_dir():
        yield folder_tree(path)
        return
    if not path.exists():
        raise MissingData(f"There is nothing at {path}.")
    with _opened(path) as file:
        block = file.read(_BLOCK)
        if block.startswith(_MAGIC):
            with tempfile.TemporaryFile() as expanded:
                _decompress(path, file, expanded, bounds)
                yield _tar_tree(path, expanded, bounds)
        elif _is_header(block):
            yield _tar_tree(path, file, bounds)
        else:
            with _opened_zip(path) as archive:
                yield _zip_tree(path, archive, bounds)


def tree_signature(path: Path) -> str:
    """Digest what is at a path: relative names, sizes, and stamps as of `Member`; hex.

    For a tar.gz, its size and gzip's own checksum replace them: reading its names would mean to
    decompress it each time that a benchmark is opened.

    Raises:
        As `open_tree`.
    """
    if path.is_file():
        with _opened(path) as file:
            if file.read(len(_MAGIC)) == _MAGIC:
                size = path.stat().st_size
                file.seek(max(0, size - 8))
                return canonical_digest(["gzip", size, file.read(8).hex()])
    with open_tree(path) as tree:
        return tree.signature()


def _opened_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE as failure:
        raise BadData(
            f"{path} is neither a folder nor a readable zip, tar or tar.gz ({failure}); "
            "download it again."
        ) from failure


def _zip_tree(where: Path, archive: zipfile.ZipFile, bounds: Bounds) -> FileTree:
    def content(member: Member) -> bytes:
        with archive.open(member.handle) as file:
            return file.read(member.size + 1)

    def entry(info: zipfile.ZipInfo) -> Entry:
        problem = None
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
            problem = "is a link or a device"
        elif info.flag_bits & 0x1:
            problem = "is encrypted"
        return Member(info.filename, info.file_size, info.CRC, info), info.is_dir(), problem

    return archive_tree(where, bounds, map(entry, archive.infolist()), content)


def _tar_tree(where: Path, file: BinaryIO, bounds: Bounds) -> FileTree:
    def content(member: Member) -> bytes:
        file.seek(member.handle)
        return file.read(member.size)

    return archive_tree(where, bounds, _tar_entries(where, file), content)


def _is_header(block: bytes) -> bool:
    """Tell whether a file that begins with this block is a tar."""
    try:
        return bool(tarfile.TarInfo.frombuf(block, "utf-8", "replace"))
    except tarfile.TarError:
        return False


def _decompress(path: Path, file: BinaryIO, content: BinaryIO, bounds: Bounds) -> None:
    file.seek(0)
    most_bytes = bounds.total_bytes + (bounds.members + 20) * _OVERHEAD
    try:
        with gzip.open(file) as source:
            while block := source.read(_HEADER_BYTES):
                if content.tell() + len(block) > most_bytes:
                    raise BadData(
                        f"{path} would expand to more than {most_bytes} bytes and is refused."
                    )
                content.write(block)
        content.flush()
    except (gzip.BadGzipFile, EOFError, zlib.error) as failure:
        raise BadData(f"{path} cannot be decompressed ({failure}); download it again.") from failure
    except OSError as failure:
        raise folder_error(
            failure,
            f"{path} cannot be decompressed into {tempfile.gettempdir()}: {failure.strerror}. Make "
            "room, or choose another folder with the environment variable TMPDIR.",
        ) from failure


def _tar_entries(where: Path, file: BinaryIO) -> Iterator[Entry]:
    """Yield every member, in the archive's order, then check that the archive is whole."""
    file.seek(0)
    try:
        changed = where.stat().st_mtime_ns  # a tar records no checksum of its members' content
        with tarfile.TarFile(fileobj=cast(BinaryIO, _HeaderReader(where, file))) as archive:
            while (info := archive.next()) is not None:
                # Bounds memory; typeshed does not know this list of all headers so far.
                archive.members.clear()  # pyright: ignore[reportAttributeAccessIssue]
                if info.size < 0:
                    raise tarfile.HeaderError("a member has a negative size")
                # The folder that the archive was made of.
                if not (info.isdir() and info.name in (".", "./", "")):
                    name = info.name.removeprefix("./")
                    problem = "has holes" if info.issparse() else None
                    if info.type not in _KINDS:
                        problem = "is a link or a device"
                    member = Member(name, info.size, changed, info.offset_data)
                    yield member, info.isdir(), problem
            end = archive.offset
    except (tarfile.TarError, OSError, ValueError, RecursionError) as failure:
        raise BadData(f"{where} is not a readable tar ({failure}); download it again.") from failure
    file.seek(end)
    # tarfile takes a header that it cannot read for the end of the archive.
    block = file.read(_BLOCK)
    if len(block) != _BLOCK or any(block):
        raise BadData(f"{where} is cut off or damaged at byte {end}; download it again.")


@final
class _HeaderReader:
    """What ``tarfile`` reads headers from: never much at once, whatever length a header claims."""

    def __init__(self, where: Path, file: BinaryIO) -> None:
        self._where, self._file = where, file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes."""
        if not 0 <= size <= _HEADER_BYTES:
            raise BadData(f"{self._where} is refused: a header in it claims {size} bytes.")
        return self._file.read(size)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    check_plain(path)
    try:
        file = path.open("rb")
    except OSError as failure:
        raise BadData(f"{path} cannot be read: {failure.strerror}.") from failure
    with file:
        yield file
