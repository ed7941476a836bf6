"""Reading the arrays of a NumPy ``.npz`` file in blocks, however large they are.

The file comes from a stranger: arrays of Python objects, which would be unpickled, are refused, and
so is every member that is not what its header says.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, final

import numpy as np

from fsl_sweep.datasets.file_tree import checked_path, refused
from fsl_sweep.datasets.pool import canonical_digest
from fsl_sweep.orchestrator.errors import BadData

_BLOCK_BYTES = 8 * 2**20
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
)


@dataclass(frozen=True)
class ArrayHeader:
    """What a member says of itself: the array's shape and type, and where its values begin."""

    member: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int

    @property
    def row_bytes(self) -> int:
        """The size of one entry along the first axis."""
        return prod(self.shape[1:]) * self.dtype.itemsize


@final
class NpzFile:
    """An open ``.npz`` file; `open_npz` makes it.

    Attributes:
        where: the file, for messages.
        arrays: the header of each array, by name.
    """

    def __init__(self, where: Path, archive: zipfile.ZipFile) -> None:
        self.where, self._archive = where, archive
        self.arrays: Mapping[str, ArrayHeader] = self._headers()

    def signature(self) -> str:
        """Hex digest of the arrays' names, sizes and recorded CRCs; not of dates or places."""
        members = sorted((h.member.filename, h.member) for h in self.arrays.values())
        return canonical_digest([[name, m.file_size, m.CRC] for name, m in members])

    def blocks(self, name: str) -> Iterator[np.ndarray]:
        """The array in its order, some megabytes at a time; ``[rows, ...]`` each.

        Raises:
            BadData: the values cannot be read, or there are fewer or others than recorded.
        """
        header = self.arrays[name]
        rows = max(1, _BLOCK_BYTES // max(1, header.row_bytes))
        with self._reporting(name), self._archive.open(header.member) as file:
            file.read(header.offset)
            for start in range(0, header.shape[0], rows):
                count = min(rows, header.shape[0] - start)
                content = _exactly(file, count * header.row_bytes)
                yield np.frombuffer(content, header.dtype).reshape(count, *header.shape[1:])
            file.read(1)  # at its end a member's checksum is compared

    def _headers(self) -> dict[str, ArrayHeader]:
        headers: dict[str, ArrayHeader] = {}
        for member in self._archive.infolist():
            path = checked_path(self.where, member.filename)
            name = path.removesuffix(".npy")
            if path == name or "/" in path:
                raise refused(self.where, path, "is not an array (NAME.npy)")
            if name in headers:
                raise refused(self.where, path, "appears twice")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise refused(self.where, path, "is compressed in a way that numpy.savez is not")
            headers[name] = self._header(name, member)
        return headers

    def _header(self, name: str, member: zipfile.ZipInfo) -> ArrayHeader:
        with self._reporting(name), self._archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, columns_first, dtype = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, columns_first, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise ValueError(f"format {version} is for arrays of records")
            header = ArrayHeader(member, shape, dtype, file.tell())
        self._check(name, header, columns_first)
        return header

    def _check(self, name: str, header: ArrayHeader, columns_first: bool) -> None:
        if header.dtype.hasobject:
            raise BadData(
                f"Array '{name}' of {self.where} holds Python objects, which are never unpickled; "
                "save plain numbers or strings, such as np.array(values, dtype=str)."
            )
        if columns_first and len(header.shape) > 1:
            raise BadData(
                f"Array '{name}' of {self.where} is stored column by column; save "
                "np.ascontiguousarray(array), so that it can be read row by row."
            )
        size = header.offset + prod(header.shape) * header.dtype.itemsize
        if min(header.shape, default=0) < 0 or header.member.file_size != size:
            raise BadData(
                f"Array '{name}' of {self.where} is not as long as its shape {list(header.shape)} "
                "says; save it again."
            )

    @contextmanager
    def _reporting(self, name: str) -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as failure:
            raise BadData(
                f"Array '{name}' of {self.where} cannot be read ({failure}); save it again."
            ) from failure


@contextmanager
def open_npz(path: Path) -> Iterator[NpzFile]:
    """The arrays of a file that ``numpy.savez`` or ``numpy.savez_compressed`` wrote.

    Raises:
        BadData: it is no such file, or is damaged or hostile.
    """
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as failure:
        raise BadData(
            f"{path} is not a readable .npz file ({failure}); write it with numpy.savez."
        ) from failure
    with archive:
        yield NpzFile(path, archive)


def _exactly(file: IO[bytes], size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise EOFError("it ends early")
    return content
