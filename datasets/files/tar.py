"""The entries of a tar. One that gzip compressed is first decompressed into a temporary file."""

import gzip
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast, final

from fsl_sweep.datasets.files.file_tree import ArchiveTree, Bounds, Entry, Member
from fsl_sweep.orchestrator.errors import BadData, folder_error

_MAGIC = b"\x1f\x8b"
_BLOCK = tarfile.BLOCKSIZE
_HEADER_BYTES = 2**20
_OVERHEAD = 4 * _BLOCK  # of a member: its header, a long name's, and what fills its last block
_KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)


def is_tar(path: Path) -> bool:
    """Whether a file begins as a tar or as a gzip file does. Raises BadData if it is unreadable."""
    with _opened(path) as file:
        block = file.read(_BLOCK)
    try:
        return block.startswith(_MAGIC) or bool(tarfile.TarInfo.frombuf(block, "utf-8", "replace"))
    except tarfile.TarError:
        return False


def gzip_trailer(path: Path) -> str | None:
    """Checksum and length at the end of a gzip file, hex; None for another file. Raises BadData."""
    with _opened(path) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        file.seek(max(0, path.stat().st_size - 8))
        return file.read(8).hex()


@contextmanager
def tar_tree(path: Path, bounds: Bounds) -> Iterator[ArchiveTree]:
    """The files of a tar or tar.gz. Raises as `open_tree`."""
    with _opened(path) as file:
        if gzip_trailer(path) is None:
            yield _Tar(path, file, bounds)
            return
        with tempfile.TemporaryFile() as content:
            _decompress(path, file, content, bounds)
            yield _Tar(path, content, bounds)


@final
class _Tar(ArchiveTree):
    def __init__(self, where: Path, file: BinaryIO, bounds: Bounds) -> None:
        self._file = file
        super().__init__(where, bounds, _entries(where, file))

    def content(self, member: Member) -> bytes:
        self._file.seek(self.handles[member.path])
        return self._file.read(member.size)


def _decompress(path: Path, file: BinaryIO, content: BinaryIO, bounds: Bounds) -> None:
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


def _entries(where: Path, file: BinaryIO) -> Iterator[Entry]:
    """Every member, in the archive's order, then a check that the archive is whole."""
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
                    yield Entry(name, info.size, info.isdir(), info.offset_data, problem, changed)
            end = archive.offset
    except (tarfile.TarError, OSError, ValueError, RecursionError) as failure:
        raise BadData(f"{where} is not a readable tar ({failure}); download it again.") from failure
    file.seek(end)
    # tarfile takes a header that it cannot read for the end of the archive.
    block = file.read(_BLOCK)
    if len(block) != _BLOCK or any(block):
        raise BadData(f"{where} breaks off or is damaged at byte {end}; download it again.")


@final
class _HeaderReader:
    """What ``tarfile`` reads headers from: never much at once, whatever length one announces."""

    def __init__(self, where: Path, file: BinaryIO) -> None:
        self._where, self._file = where, file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes."""
        if not 0 <= size <= _HEADER_BYTES:
            raise BadData(f"{self._where} is refused: a header in it announces {size} bytes.")
        return self._file.read(size)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except OSError as failure:
        raise BadData(f"{path} cannot be read: {failure.strerror}.") from failure
    with file:
        yield file
