"""A ``.npy`` file that grows along its first axis, and that a second process can go on with."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np

from fsl_sweep.orchestrator.errors import folder_error

_READ_BYTES = 2**20


@final
class GrowingArray:
    """Rows are appended, and their checksum is computed on the way.

    Args:
        path: the file; it is created, or gone on with.
        item: the shape of a row.
        dtype: of the values.
        kept: how many rows of an existing file are whole; what follows them is cut off. A file
            that has fewer is begun anew.

    Attributes:
        count: how many rows there are.

    Raises:
        RunFolderError: the file cannot be written, with its path.
        MachineFailure: the same, where the disk is full or fails.
    """

    def __init__(self, path: Path, item: Sequence[int], dtype: str = "|u1", kept: int = 0) -> None:
        self._path, self._item, self._dtype = path, tuple(item), np.dtype(dtype)
        self.count, self._digest = 0, hashlib.sha256()
        with reporting(path):
            self._file: BinaryIO = path.open("r+b" if kept and path.is_file() else "wb")
            size = os.fstat(self._file.fileno()).st_size
            self._write_header()
            if size >= self._file.tell() + kept * self.row_bytes:
                self._go_on(kept)
            self._file.truncate()

    @property
    def row_bytes(self) -> int:
        """The size of a row in the file."""
        return int(np.prod(self._item, dtype=np.int64)) * self._dtype.itemsize

    def append(self, array: np.ndarray) -> None:
        """Add rows ``[M, *item]``.

        Raises:
            MachineFailure: the disk is full.
        """
        content = np.ascontiguousarray(array, dtype=self._dtype).tobytes()
        self._digest.update(content)
        with reporting(self._path):
            self._file.write(content)
        self.count += len(array)

    def flush(self) -> None:
        """Bring everything so far to the disk, whatever happens to this process or machine."""
        with reporting(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> dict[str, Any]:
        """Finish the file; its entry in a store's sheet."""
        with reporting(self._path):
            size = self._file.tell()
            self._file.seek(0)
            self._write_header()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        return {
            "file": self._path.name,
            "shape": [self.count, *self._item],
            "dtype": self._dtype.str,
            "bytes": size,
            "sha256": self._digest.hexdigest(),
        }

    def discard(self) -> None:
        """Let go of the file without finishing it."""
        # A full disk may refuse the last buffer of a file that is thrown away anyway.
        with suppress(OSError):
            self._file.close()

    def _go_on(self, kept: int) -> None:
        """Read what is there for its checksum, and stand behind it."""
        for start in range(0, kept * self.row_bytes, _READ_BYTES):
            size = min(_READ_BYTES, kept * self.row_bytes - start)
            self._digest.update(self._file.read(size))
        self.count = kept
        self._file.seek(self._file.tell())  # the buffer wants it between reading and writing

    def _write_header(self) -> None:
        # NumPy pads headers so that the first axis can grow without moving the data.
        header = {
            "descr": self._dtype.str,
            "fortran_order": False,
            "shape": (self.count, *self._item),
        }
        np.lib.format.write_array_header_1_0(self._file, header)


@contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Turn failures to write into our error, with the path and what to do about it."""
    try:
        yield
    except OSError as failure:
        raise folder_error(
            failure,
            f"Cannot write the prepared data set {path}: {failure.strerror or failure}. Make room "
            "or choose another folder with the environment variable FSL_SWEEP_HOME.",
        ) from failure
