"""Precomputed features of a frozen extractor, such as CLIP or DINO, from a file of arrays.

The file comes from a stranger: what would expand past a bound is refused, and so are arrays of
Python objects, which would have to be unpickled.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import numpy as np

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.file_tree import UNREADABLE, Bounds
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.splits.drawn import SplitOptions, marked, marks, split_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

_MOST_BYTES = 64 * 2**30
_SAFETENSORS = ".safetensors"


Arrays = Mapping[str, np.ndarray]


def read_features(path: Path) -> Arrays:
    """Read all arrays of a file into memory, by name."""
    try:
        if path.suffix == _SAFETENSORS:
            from safetensors.numpy import load_file

            return load_file(path)
        _check_members(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is not an array")
        return arrays
    except BadData:
        raise
    except MemoryError as failure:
        raise MachineFailure(f"{path} does not fit into the memory of this machine.") from failure
    except Exception as failure:  # the parsers of headers raise anything at all on damaged files
        raise _unreadable(path, failure) from failure


def file_signature(path: Path) -> str:
    """Digest the arrays' names, sizes and checksums, not dates or places; hex."""
    try:
        if path.suffix == _SAFETENSORS:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        return _check_members(path)
    except UNREADABLE as failure:
        raise _unreadable(path, failure) from failure


def _check_members(path: Path) -> str:
    """Check and digest an ``.npz``'s directory, before anything is expanded; hex."""
    zipfile.ZipFile(path).close()  # no other archive holds features
    with open_tree(path, Bounds(member_bytes=_MOST_BYTES, total_bytes=_MOST_BYTES)) as tree:
        return tree.signature()


def _unreadable(path: Path, failure: Exception) -> BadData:
    return BadData(
        f"{path} is not a readable .npz or .safetensors file ({failure}); write it with "
        "numpy.savez, with plain numbers or strings such as np.array(values, dtype=str), or with "
        "safetensors.numpy.save_file."
    )


_NEEDED = ("features", "labels")
_KNOWN = (*_NEEDED, "names", "superclasses", "split")
_BATCH = 1024  # rows; the file is in memory, a copy of it need not be


@final
class Features(AbstractBenchmark[SplitOptions]):
    """Feature vectors instead of images, used as they are; with the ``identity`` backbone.

    Arrays of the file: ``features`` ``[N, d]`` floats; ``labels`` ``[N]`` integers or strings; and
    optionally ``names`` (strings: the name of each integer label), ``superclasses`` ``[N]``
    (strings) and ``split`` ``[N]`` (``base``, ``val`` or ``novel``), the last two the same for all
    examples of a class.
    """

    name = "features"
    Options = SplitOptions
    version = 1
    download = (
        "an .npz or .safetensors file with arrays features [N, d] and labels [N], of any frozen "
        "extractor"
    )
    holds_features = True

    def signature(self, options: SplitOptions, root: Path | None) -> str:
        """Digest the arrays' names, sizes and checksums."""
        return file_signature(self.source_path(root))

    def prepare(
        self, options: SplitOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write every row in the file's order, as float32."""
        where = self.source_path(root)
        file = read_features(where)
        _check_arrays(where, file)
        values, labels = np.unique(_text(file["labels"]), return_inverse=True)
        names = _names(where, file, values.tolist())
        superclasses, split = (
            _of_classes(where, file, array, labels, names) for array in ("superclasses", "split")
        )
        if wrong := set(split or ()) - set(MEASURED):
            raise BadData(
                f"Array 'split' of {where} has '{min(wrong)}'; it must say base, val or novel."
            )
        total, width = file["features"].shape
        pool = writer.pool((width, 1, 1), values="float32")
        pool.describe(names, superclasses, **(marks(split) if split else {}))
        for start in range(0, total, _BATCH):
            rows = slice(start, min(start + _BATCH, total))
            pool.append(_as_images(where, file["features"], rows), labels[rows])
            progress(rows.stop, total)

    def assemble(self, options: SplitOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes by lists, else by the file's own split, else draw."""
        pool = pools["main"]
        published = None if pool.attributes is None else marked(pool)
        return split_benchmark(self.name, pool, options, published)


def _check_arrays(where: Path, arrays: Arrays) -> None:
    unknown = [name for name in arrays if name not in _KNOWN]
    if unknown or not all(name in arrays for name in _NEEDED):
        raise BadData(
            f"{where} has the arrays {', '.join(arrays) or '(none)'}; it needs features [N, d] and "
            "labels [N], and may have names, superclasses [N] and split [N]."
        )
    features = arrays["features"]
    if features.dtype.kind != "f" or len(features.shape) != 2 or 0 in features.shape:
        raise BadData(
            f"Array 'features' of {where} must be floats [N, d]; "
            f"it is {features.dtype} {list(features.shape)}."
        )
    for name, array in arrays.items():
        kinds, wanted = ("USiu", "integers or strings") if name == "labels" else ("US", "strings")
        rows = array.shape[:1] if name == "names" else features.shape[:1]
        if name != "features" and (array.dtype.kind not in kinds or array.shape != rows):
            raise BadData(
                f"Array '{name}' of {where} must be {wanted} {[*rows]}; "
                f"it is {array.dtype} {list(array.shape)}."
            )


def _names(where: Path, file: Arrays, values: list[Any]) -> tuple[str, ...]:
    """Return a name for each label that occurs, in the order of the labels."""
    names = tuple(map(str, values))
    if "names" in file:
        if isinstance(values[0], str):
            raise BadData(f"{where} names its classes twice: in labels and in names.")
        names = tuple(_text(file["names"]).tolist())
        if values != list(range(len(names))):
            raise BadData(
                f"{where} has {len(names)} names, but its labels are not all the numbers from 0 to "
                f"{len(names) - 1}."
            )
    return names


def _of_classes(
    where: Path, file: Arrays, array: str, labels: np.ndarray, names: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the word of each class, from an array that has one for each row."""
    if array not in file:
        return None
    words = _text(file[array])
    of_class = words[np.unique(labels, return_index=True)[1]]
    if len(differing := labels[of_class[labels] != words]):
        raise BadData(
            f"Array '{array}' of {where} differs between rows of class '{names[differing.min()]}'."
        )
    return tuple(of_class.tolist())


def _text(column: np.ndarray) -> np.ndarray:
    """Decode bytes in an array ``[N]`` of integers or strings."""
    return np.char.decode(column, "utf-8", "replace") if column.dtype.kind == "S" else column


def _as_images(where: Path, features: np.ndarray, rows: slice) -> np.ndarray:
    """Return some rows as float32 ``[M, d, 1, 1]``, all finite."""
    with np.errstate(over="ignore"):
        block = features[rows].astype(np.float32)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        raise BadData(
            f"Row {rows.start + np.argmin(finite)} of the features of {where} has NaN, "
            "infinity or a value beyond float32."
        )
    return block[:, :, None, None]
