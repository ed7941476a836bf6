"""Precomputed features of a frozen extractor, such as CLIP or DINO, from a file of arrays.

The file comes from a stranger: what would expand past a bound is refused, and so are arrays of
Python objects, which would have to be unpickled.
"""

import hashlib
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import UNREADABLE
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.splits.drawn import SplitOptions, marked, marks, split_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MachineFailure

_MOST_BYTES = 64 * 2**30
_SAFETENSORS = ".safetensors"


@dataclass(frozen=True)
class FeatureFile:
    """The arrays of a file by name, in memory; ``where`` is the file, for messages."""

    where: Path
    arrays: Mapping[str, np.ndarray]


def read_features(path: Path) -> FeatureFile:
    """All arrays of a file."""
    try:
        if path.suffix == _SAFETENSORS:
            from safetensors.numpy import load_file

            return FeatureFile(path, load_file(path))
        _members(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member is not an array")
        return FeatureFile(path, arrays)
    except BadData:
        raise
    except MemoryError as failure:
        raise MachineFailure(f"{path} does not fit into the memory of this machine.") from failure
    except Exception as failure:  # the parsers of headers raise anything at all on damaged files
        raise _unreadable(path, failure) from failure


def file_signature(path: Path) -> str:
    """Hex digest of the arrays' names, sizes and checksums; not of dates or places."""
    try:
        if path.suffix == _SAFETENSORS:
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        return canonical_digest([[m.filename, m.file_size, m.CRC] for m in _members(path)])
    except UNREADABLE as failure:
        raise _unreadable(path, failure) from failure


def _members(path: Path) -> list[zipfile.ZipInfo]:
    """The directory of an ``.npz``, sorted by name; checked before anything is expanded."""
    with zipfile.ZipFile(path) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
    total = sum(member.file_size for member in members)
    if total > _MOST_BYTES:
        raise BadData(f"{path} would expand to {total} bytes and is refused.")
    names = [member.filename for member in members]
    for name in names:
        if not name.endswith(".npy") or "/" in name or names.count(name) > 1:
            raise BadData(
                f"{path} is refused: its member {name!r} is not an array (NAME.npy), or is twice "
                "in it."
            )
    return members


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
        """Of the arrays' names, sizes and checksums."""
        return file_signature(self.given(root))

    def prepare(
        self, options: SplitOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Every row in the file's order, as float32."""
        file = read_features(self.given(root))
        _check_arrays(file)
        values, labels = np.unique(_column(file, "labels"), return_inverse=True)
        names = _names(file, values.tolist())
        superclasses, split = (
            _of_classes(file, array, labels, names) for array in ("superclasses", "split")
        )
        if wrong := set(split or ()) - set(MEASURED):
            raise BadData(
                f"Array 'split' of {file.where} has '{min(wrong)}'; it must say base, val or novel."
            )
        total, width = file.arrays["features"].shape
        pool = writer.pool((width, 1, 1), values="float32")
        for start in range(0, total, _BATCH):
            rows = slice(start, min(start + _BATCH, total))
            pool.append(_as_images(file, rows), labels[rows])
            progress(rows.stop, total)
        pool.describe(names, superclasses, **(marks(split) if split else {}))

    def assemble(self, options: SplitOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the given lists, by the file's own split, or drawn."""
        pool = pools["main"]
        given = None if pool.attributes is None else marked(pool)
        return split_benchmark(self.name, pool, options, given)

    def given(self, root: Path | None) -> Path:
        """The file's place; BadData if it is a folder."""
        path = super().given(root)
        if path.is_dir():
            raise BadData(f"{path} is a folder; features are prepared from one file: give that.")
        return path


def _check_arrays(file: FeatureFile) -> None:
    where, arrays = file.where, file.arrays
    unknown = [name for name in arrays if name not in _KNOWN]
    if unknown or not all(name in arrays for name in _NEEDED):
        raise BadData(
            f"{where} has the arrays {', '.join(arrays) or '(none)'}; needed are features [N, d] "
            "and labels [N], and allowed besides names, superclasses [N] and split [N]."
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


def _names(file: FeatureFile, values: list[Any]) -> tuple[str, ...]:
    """A name for each label that occurs, in the order of the labels."""
    names = tuple(map(str, values))
    if "names" in file.arrays:
        if isinstance(values[0], str):
            raise BadData(f"{file.where} names classes twice: its labels are strings already.")
        names = tuple(_column(file, "names").tolist())
        if values != list(range(len(names))):
            raise BadData(
                f"{file.where} names {len(names)} classes, but labels are not all the numbers from "
                f"0 to {len(names) - 1}."
            )
    # Two spellings of one accented name look the same to a reader.
    spelled = Counter(unicodedata.normalize("NFC", name) for name in names)
    for name, uses in spelled.items():
        if uses > 1 or not name.strip():
            raise BadData(f"{file.where} has an empty class name, or two classes '{name}'.")
    return names


def _of_classes(
    file: FeatureFile, array: str, labels: np.ndarray, names: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The word of each class, from an array that has one for each row."""
    if array not in file.arrays:
        return None
    words, codes = np.unique(_column(file, array), return_inverse=True)
    pairs = np.unique(labels * len(words) + codes)
    owners, times = np.unique(pairs // len(words), return_counts=True)
    if np.any(times > 1):
        raise BadData(
            f"Array '{array}' of {file.where} differs between rows of class "
            f"'{names[owners[np.argmax(times)]]}'."
        )
    return tuple(words[pairs % len(words)].tolist())


def _column(file: FeatureFile, array: str) -> np.ndarray:
    """An array ``[N]`` of integers or strings, bytes decoded."""
    column = file.arrays[array]
    return np.char.decode(column, "utf-8", "replace") if column.dtype.kind == "S" else column


def _as_images(file: FeatureFile, rows: slice) -> np.ndarray:
    """Some rows as float32 ``[M, d, 1, 1]``; all finite."""
    with np.errstate(over="ignore"):
        block = file.arrays["features"][rows].astype(np.float32)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        raise BadData(
            f"Row {rows.start + np.argmin(finite)} of the features of {file.where} has NaN, "
            "infinity or a value beyond float32."
        )
    return block[:, :, None, None]
