"""Precomputed features of a frozen extractor, such as CLIP or DINO, from a file of arrays."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.feature_file import FeatureFile, file_signature, read_features
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.splits.options import SplitOptions, split_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData

_NEEDED = ("features", "labels")
_KNOWN = (*_NEEDED, "names", "superclasses", "split")
_BATCH = 1024
_MOST_FEATURES = 2**20
_MOST_NAME_BYTES = 4096


class FeatureOptions(SplitOptions):
    """Options of ``features``."""


@final
class Features(AbstractBenchmark[FeatureOptions]):
    """Feature vectors instead of images, used as they are; with the ``identity`` backbone.

    Arrays of the file: ``features`` ``[N, d]`` floats; ``labels`` ``[N]`` integers or strings; and
    optionally ``names`` (strings: the name of each integer label), ``superclasses`` ``[N]``
    (strings) and ``split`` ``[N]`` (``base``, ``val`` or ``novel``), the last two the same for all
    examples of a class.
    """

    name = "features"
    Options = FeatureOptions
    version = 1
    download = (
        "an .npz or .safetensors file with arrays features [N, d] and labels [N], of any frozen "
        "extractor"
    )
    holds_features = True

    def pool_options(self, options: FeatureOptions) -> dict[str, Any]:  # noqa: ARG002 (an interface)
        """None: the split is an index."""
        return {}

    def signature(self, options: FeatureOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the arrays' names, sizes and checksums."""
        return file_signature(self.given(root))

    def prepare(
        self,
        options: FeatureOptions,  # noqa: ARG002 (an interface)
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Every row in the file's order, as float32."""
        file = read_features(self.given(root))
        _check_arrays(file)
        classes = _read_classes(file)
        features = file.arrays["features"]
        total, width = features.shape
        pool = writer.pool((width, 1, 1), values="float32")
        for start in range(0, total, _BATCH):
            rows = slice(start, min(start + _BATCH, total))
            pool.append(_as_images(features[rows], file.where, start), classes.labels[rows])
            progress(rows.stop, total)
        split = classes.split
        member = [[given == known for known in MEASURED] for given in split or ()]
        pool.describe(
            classes.names,
            classes.superclasses,
            np.array(member) if split else None,
            MEASURED if split else None,
        )

    def assemble(self, options: FeatureOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the given lists, by the file's own split, or drawn."""
        pool = pools["main"]
        given = None
        if pool.attributes is not None:
            columns = zip(MEASURED, pool.attributes.T, strict=True)
            given = {split: np.flatnonzero(column) for split, column in columns}
        return split_benchmark(self.name, pool, options, given)

    def given(self, root: Path | None) -> Path:
        """The file's place.

        Raises:
            MissingData: none is given.
            BadData: it is a folder.
        """
        path = super().given(root)
        if path.is_dir():
            raise BadData(f"{path} is a folder; features are prepared from one file: give that.")
        return path


@dataclass(frozen=True)
class _Classes:
    """The class of each row, and for each class its name, superclass and split where given."""

    labels: np.ndarray
    names: tuple[str, ...]
    superclasses: tuple[str, ...] | None
    split: tuple[str, ...] | None


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
    if features.shape[1] > _MOST_FEATURES:
        raise BadData(f"{where} has {features.shape[1]} features a row; at most 2**20 are allowed.")
    for name in ("labels", "superclasses", "split"):
        if name in arrays and arrays[name].shape != features.shape[:1]:
            raise BadData(
                f"Array '{name}' of {where} must have one entry for each of the "
                f"{features.shape[0]} rows of features; its shape is {list(arrays[name].shape)}."
            )
    for name in _KNOWN[1:]:
        if name in arrays:
            _check_words(name, arrays[name], where)


def _check_words(name: str, array: np.ndarray, where: Path) -> None:
    kinds = "USiu" if name == "labels" else "US"
    if array.dtype.kind not in kinds or len(array.shape) != 1:
        wanted = "integers or strings" if name == "labels" else "strings"
        raise BadData(
            f"Array '{name}' of {where} must be a row of {wanted}; "
            f"it is {array.dtype} {list(array.shape)}."
        )
    if array.dtype.itemsize > _MOST_NAME_BYTES:
        raise BadData(f"Array '{name}' of {where} holds strings of more than 1024 characters.")


def _read_classes(file: FeatureFile) -> _Classes:
    values, labels = np.unique(_column(file, "labels"), return_inverse=True)
    names = _names(file, values.tolist())
    seen: set[str] = set()
    for name in names:
        # Two spellings of one accented name look the same to a reader.
        spelling = unicodedata.normalize("NFC", name)
        if spelling in seen or not name.strip():
            raise BadData(f"{file.where} has an empty class name, or two classes '{spelling}'.")
        seen.add(spelling)
    split = _of_classes(file, "split", labels, names)
    for given in split or ():
        if given not in MEASURED:
            raise BadData(
                f"Array 'split' of {file.where} has '{given}'; it must say base, val or novel."
            )
    return _Classes(labels, names, _of_classes(file, "superclasses", labels, names), split)


def _names(file: FeatureFile, values: list[Any]) -> tuple[str, ...]:
    """A name for each label that occurs, in the order of the labels."""
    if "names" not in file.arrays:
        return tuple(map(str, values))
    if isinstance(values[0], str):
        raise BadData(f"{file.where} names classes twice: its labels are strings already.")
    names = _column(file, "names").tolist()
    if values != list(range(len(names))):
        lacking = sorted(set(range(len(names))) - set(values))
        problem = (
            f"class '{names[lacking[0]]}' has no rows"
            if lacking
            else f"labels run from {values[0]} to {values[-1]}"
        )
        raise BadData(f"{file.where} names {len(names)} classes, but {problem}.")
    return tuple(names)


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


def _as_images(block: np.ndarray, where: Path, first: int) -> np.ndarray:
    """Rows as float32 ``[M, d, 1, 1]``; all finite."""
    with np.errstate(over="ignore"):
        rows = block.astype(np.float32)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        bad = first + int(np.argmin(finite))
        raise BadData(
            f"Row {bad} of the features of {where} has NaN, infinity or a value beyond float32."
        )
    return rows[:, :, None, None]
