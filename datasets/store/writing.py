"""Writing a store: streamed, in bounded memory, and visible only when it is whole.

A preparation that fails, is interrupted or is killed counts for nothing; the next one of the same
store starts again from the beginning.
"""

import hashlib
import json
import os
import shutil
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, final

import numpy as np

from fsl_sweep.datasets.store.reading import FORMAT, NAMES, SHEET, fingerprint_of, sheet_digest
from fsl_sweep.orchestrator.errors import BadData, folder_error

TEMPORARY = ".preparing-"
Values = Literal["uint8", "float32"]


class PoolWriter:
    """Appends one pool's images to a store under preparation. Arguments as ``StoreWriter.pool``."""

    def __init__(
        self, folder: Path, name: str, image_shape: tuple[int, int, int], values: Values = "uint8"
    ) -> None:
        self._folder, self._name = folder, name
        self._image_shape, self._values = image_shape, np.dtype(values)
        self._words: dict[str, Any] = {}
        self._arrays: dict[str, _GrowingArray] = {}
        self._write("images", np.empty((0, *image_shape), values))
        self._write("labels", np.empty(0, np.int64))

    def append(
        self, images: np.ndarray, labels: np.ndarray | int, writers: np.ndarray | None = None
    ) -> None:
        """Add images ``[M, C, H, W]`` with their labels, and writers where known.

        Raises:
            BadData: the images do not have the pool's shape or type.
            RunFolderError: the store cannot be written.
            MachineFailure: the disk is full or fails.
        """
        count = len(images)
        if images.dtype != self._values or images.shape != (count, *self._image_shape):
            raise BadData(
                f"Images of pool '{self._name}' must be {self._values} "
                f"{[count, *self._image_shape]}; these are {images.dtype} {list(images.shape)}."
            )
        self._write("images", images)
        self._write("labels", np.broadcast_to(np.asarray(labels, dtype=np.int64), (count,)))
        if writers is not None:
            self._write("writers", np.asarray(writers, dtype=np.int64))

    def describe(
        self,
        class_names: Sequence[str],
        superclasses: Sequence[str] | None = None,
        attributes: np.ndarray | None = None,
        attribute_names: Sequence[str] | None = None,
    ) -> None:
        """Name the classes; once, before or after the images.

        Raises:
            BadData: a name is empty, or two are the same: images of two classes would be mixed up.
        """
        # Two spellings of one accented name look the same to a reader.
        uses = Counter(unicodedata.normalize("NFC", name) for name in class_names)
        for name, count in uses.items():
            if count > 1 or not name.strip():
                raise BadData(
                    f"A class has an empty name, or two classes are called '{name}'; each needs a "
                    "name of its own, across superclasses too."
                )
        words = zip(NAMES, (class_names, superclasses, attribute_names), strict=True)
        self._words = {key: None if of is None else list(of) for key, of in words}
        if attributes is not None:
            self._write("attributes", np.asarray(attributes, dtype=bool))

    def close(self) -> dict[str, Any]:
        """Finish the files and return the pool's entry in the sheet."""
        arrays = {key: array.close() for key, array in self._arrays.items()}
        entry = {**self._words, "arrays": arrays}
        return {**entry, "fingerprint": fingerprint_of(entry)}

    def _write(self, key: str, rows: np.ndarray) -> None:
        """Append rows to one of the pool's files."""
        if key not in self._arrays:
            path, little = self._folder / f"{self._name}.{key}.npy", rows.dtype.newbyteorder("<")
            self._arrays[key] = _GrowingArray(path, rows.shape[1:], little.str)
        self._arrays[key].append(rows)


class StoreWriter:
    """A store under preparation, in a temporary folder beside its final place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pools: dict[str, PoolWriter] = {}

    def pool(
        self, image_shape: tuple[int, int, int], name: str = "main", values: Values = "uint8"
    ) -> PoolWriter:
        """Begin a pool of uint8 images of that shape (C, H, W), or of float32 features."""
        self._pools[name] = PoolWriter(self._folder, name, image_shape, values)
        return self._pools[name]

    def close(self, head: Mapping[str, Any]) -> None:
        """Finish every pool and write the sheet."""
        pools = {name: pool.close() for name, pool in self._pools.items()}
        sheet: dict[str, Any] = {"format": FORMAT, **head, "pools": pools}
        sheet["digest"] = sheet_digest(sheet)
        with reporting(self._folder), (self._folder / SHEET).open("w", encoding="utf-8") as file:
            json.dump(sheet, file, indent=1)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def writing_store(path: Path, head: Mapping[str, Any]) -> Iterator[StoreWriter]:
    """Write a store, which takes its place at ``path`` when the block ends without an error.

    The caller holds the store's lock: temporary folders of this store that are still there belong
    to preparations that were killed, and are removed. ``head`` is what the sheet says beside the
    pools: benchmark, version, options, source.

    Raises:
        RunFolderError: the folder cannot be written, with its path; nothing is left behind.
        MachineFailure: the same, where the disk is full or fails.
    """
    with reporting(path.parent):
        prefix = f"{TEMPORARY}{path.name}-"
        for left in path.parent.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
    writer = StoreWriter(folder)
    try:
        yield writer
        writer.close(head)
        with reporting(path):
            folder.chmod(0o755)  # mkdtemp makes folders that a lab's other users cannot read
            try:
                folder.rename(path)
            except OSError:
                # Where locks do not work across nodes, another node may have been faster; its store
                # has the same key and therefore the same content.
                if not (path / SHEET).exists():
                    raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@final
class _GrowingArray:
    """A ``.npy`` file that grows along its first axis, with a checksum computed on the way."""

    def __init__(self, path: Path, item: Sequence[int], dtype: str) -> None:
        self._path, self._item, self._dtype = path, tuple(item), np.dtype(dtype)
        self._count, self._digest = 0, hashlib.sha256()
        with reporting(path), path.open("xb") as file:
            self._write_header(file)

    def append(self, array: np.ndarray) -> None:
        """Add rows ``[M, *item]``."""
        content = np.ascontiguousarray(array, dtype=self._dtype).tobytes()
        self._digest.update(content)
        with reporting(self._path), self._path.open("ab") as file:
            file.write(content)
        self._count += len(array)

    def close(self) -> dict[str, Any]:
        """Finish the file and return its entry in the sheet."""
        with reporting(self._path), self._path.open("r+b") as file:
            self._write_header(file)
            file.flush()
            os.fsync(file.fileno())
        return {
            "file": self._path.name,
            "shape": [self._count, *self._item],
            "dtype": self._dtype.str,
            "bytes": self._path.stat().st_size,
            "sha256": self._digest.hexdigest(),
        }

    def _write_header(self, file: BinaryIO) -> None:
        # NumPy pads headers so that the first axis can grow without moving the data.
        shape = (self._count, *self._item)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)


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
