"""Writing a store: streamed, in bounded memory, and visible only when it is whole.

A preparation that is interrupted or killed counts for nothing, but its whole images are kept in a
hidden folder, and the next preparation of the same store goes on behind them.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fsl_sweep.datasets.growing_array import GrowingArray, reporting
from fsl_sweep.datasets.pool import PoolNames, pool_fingerprint
from fsl_sweep.datasets.store import FORMAT, SHEET, sheet_digest
from fsl_sweep.orchestrator.errors import BadData

TEMPORARY = ".preparing-"
PROGRESS = "progress.json"
Values = Literal["uint8", "float32"]

CHECKPOINT_BYTES = 64 * 2**20


class PoolWriter:
    """Appends one pool's images to a store under preparation.

    Args:
        folder: of the store.
        name: of the pool.
        image_shape: channels, height and width.
        values: ``uint8`` for images, ``float32`` for features.
        kept: how many images an interrupted preparation has written already.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        image_shape: tuple[int, int, int],
        values: Values = "uint8",
        kept: int = 0,
    ) -> None:
        self._folder, self._name = folder, name
        self._image_shape, self._values = image_shape, np.dtype(values)
        path = folder / f"{name}.images.npy"
        self._images = GrowingArray(path, image_shape, self._values.newbyteorder("<").str, kept)
        self._kept, self._labelled = self._images.count, 0
        self._labels: list[np.ndarray] = []
        self._writers: list[np.ndarray] = []
        self._names: PoolNames | None = None
        self._attributes: np.ndarray | None = None

    @property
    def written(self) -> int:
        """How many images are in the file."""
        return self._images.count

    @property
    def bytes(self) -> int:
        """Their size."""
        return self._images.count * self._images.row_bytes

    def append(
        self, images: np.ndarray, labels: np.ndarray | int, writers: np.ndarray | None = None
    ) -> None:
        """Add images ``[M, C, H, W]`` with their labels, and writers where known.

        Raises:
            BadData: the shape or type of the images is another than the pool's.
            RunFolderError: the store cannot be written.
        """
        self.append_made(len(images), lambda: images, labels, writers)

    def append_made(
        self,
        count: int,
        make: Callable[[], np.ndarray],
        labels: np.ndarray | int,
        writers: np.ndarray | None = None,
    ) -> None:
        """Add ``count`` images that ``make`` gives, as ``append``.

        ``make`` is not called where an interrupted preparation has written these images already:
        decoding is most of the work.
        """
        first = self._labelled
        self._labelled += count
        if self._labelled > self._kept:
            images = make()
            self._check(images, count)
            self._images.append(images[max(0, self._kept - first) :])
        self._labels.append(np.broadcast_to(np.asarray(labels, dtype=np.int64), (count,)))
        if writers is not None:
            self._writers.append(np.asarray(writers, dtype=np.int64))

    def describe(
        self,
        class_names: Sequence[str],
        superclasses: Sequence[str] | None = None,
        attributes: np.ndarray | None = None,
        attribute_names: Sequence[str] | None = None,
    ) -> None:
        """Name the classes; once, before or after the images."""
        self._names = PoolNames(
            tuple(class_names),
            None if superclasses is None else tuple(superclasses),
            None if attribute_names is None else tuple(attribute_names),
        )
        self._attributes = None if attributes is None else np.asarray(attributes, dtype=bool)

    def flush(self) -> None:
        """Bring the images so far to the disk."""
        self._images.flush()

    def close(self) -> dict[str, Any]:
        """Finish the files; the pool's entry in the sheet."""
        if self._names is None:
            raise BadData(f"Pool '{self._name}' was written without naming its classes.")
        if self._labelled != self.written:
            raise BadData(
                f"Pool '{self._name}' has {self._labelled} images, but {self.written} were written "
                "before an interruption; the source has changed since. Prepare it again."
            )
        arrays = {"images": self._images.close()}
        small = {
            "labels": np.concatenate([np.empty(0, np.int64), *self._labels]),
            "writers": np.concatenate(self._writers) if self._writers else None,
            "attributes": self._attributes,
        }
        for key, array in small.items():
            if array is not None:
                writer = GrowingArray(
                    self._folder / f"{self._name}.{key}.npy", array.shape[1:], array.dtype.str
                )
                writer.append(array)
                arrays[key] = writer.close()
        digests = {key: entry["sha256"] for key, entry in arrays.items()}
        return {
            "class_names": self._names.classes,
            "superclasses": self._names.superclasses,
            "attribute_names": self._names.attributes,
            "fingerprint": pool_fingerprint(arrays["images"]["shape"], digests, self._names),
            "arrays": arrays,
        }

    def discard(self) -> None:
        """Let go of the open file."""
        self._images.discard()

    def _check(self, images: np.ndarray, count: int) -> None:
        if images.dtype != self._values or images.shape != (count, *self._image_shape):
            raise BadData(
                f"Images of pool '{self._name}' must be {self._values} "
                f"{[count, *self._image_shape]}; these are {images.dtype} {list(images.shape)}."
            )


class StoreWriter:
    """A store under preparation, in a temporary folder beside its final place."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pools: dict[str, PoolWriter] = {}
        self._kept = _read_progress(folder)
        self._safe = 0  # bytes that the last checkpoint covers

    def pool(
        self, image_shape: tuple[int, int, int], name: str = "main", values: Values = "uint8"
    ) -> PoolWriter:
        """A new pool of images of that shape (C, H, W); of features where values are floats."""
        kept = self._kept.get(name, 0)
        self._pools[name] = PoolWriter(self._folder, name, image_shape, values, kept)
        return self._pools[name]

    def checkpoint(self) -> None:
        """Make sure of what is written, if that has become much since the last time.

        An interruption between two checkpoints costs what was written since the first.
        """
        total = sum(pool.bytes for pool in self._pools.values())
        if total - self._safe < CHECKPOINT_BYTES:
            return
        for pool in self._pools.values():
            pool.flush()
        written = {name: pool.written for name, pool in self._pools.items()}
        half = self._folder / f"{PROGRESS}.half"
        with reporting(self._folder):
            half.write_text(json.dumps(written), "utf-8")
            half.replace(self._folder / PROGRESS)
        self._safe = total

    def close(self, head: Mapping[str, Any]) -> None:
        """Finish every pool and write the sheet."""
        pools = {name: pool.close() for name, pool in self._pools.items()}
        sheet: dict[str, Any] = {"format": FORMAT, **head, "pools": pools}
        sheet["digest"] = sheet_digest(sheet)
        with reporting(self._folder):
            with (self._folder / SHEET).open("w", encoding="utf-8") as file:
                json.dump(sheet, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            (self._folder / PROGRESS).unlink(missing_ok=True)

    def discard(self) -> None:
        """Let go of open files."""
        for pool in self._pools.values():
            pool.discard()


@contextmanager
def writing_store(path: Path, head: Mapping[str, Any]) -> Iterator[StoreWriter]:
    """A writer whose store takes its place at ``path`` when the block ends without an error.

    The caller holds the store's lock, so that temporaries of this store that are still there
    belong to preparations that died: one with a checkpoint is gone on with, others are removed.
    An error, of the source or the disk, leaves none.

    Args:
        path: the store's folder.
        head: what the sheet says beside the pools: benchmark, version, options, source.

    Raises:
        RunFolderError: the folder cannot be written, with its path; nothing is left behind.
        MachineFailure: the same, where the disk is full or fails.
    """
    folder = _temporary(path)
    writer: StoreWriter | None = None
    try:
        writer = StoreWriter(folder)
        yield writer
        writer.close(head)
        with reporting(path):
            folder.chmod(0o755)  # mkdtemp's folders are closed to a lab's other users
            _sync(folder)
            _take_place(folder, path)
            _sync(path.parent)
    except BaseException as failure:
        if not (isinstance(failure, KeyboardInterrupt) and (folder / PROGRESS).is_file()):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        if writer is not None:
            writer.discard()


def unfinished(path: Path) -> list[Path]:
    """What preparations of the store at ``path`` that died have left."""
    return sorted(path.parent.glob(f"{TEMPORARY}{path.name}-*"))


def _temporary(path: Path) -> Path:
    """The folder to write in: one that an interrupted preparation left, else a new one."""
    with reporting(path.parent):
        left = unfinished(path)
        kept = next((folder for folder in left if (folder / PROGRESS).is_file()), None)
        for stale in left:
            if stale != kept:
                shutil.rmtree(stale, ignore_errors=True)
        return kept or Path(tempfile.mkdtemp(prefix=f"{TEMPORARY}{path.name}-", dir=path.parent))


def _read_progress(folder: Path) -> dict[str, int]:
    """Whole images of each pool; nothing where that is not known for certain."""
    try:
        written = json.loads((folder / PROGRESS).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    valid = isinstance(written, dict) and all(
        isinstance(count, int) and count >= 0 for count in written.values()
    )
    return written if valid else {}


def _take_place(folder: Path, path: Path) -> None:
    try:
        folder.rename(path)
    except OSError:
        # On a file system without working locks another node may have been faster; its store
        # has the same key and therefore the same content.
        if not (path / SHEET).exists():
            raise


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
