"""Precomputed features of a frozen extractor, such as CLIP or DINO, from a file of arrays."""

import unicodedata
from collections import Counter
from collections.abc import Mapping
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
_BATCH = 1024  # rows; the file is in memory, a copy of it need not be


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
        pool.describe(
            names,
            superclasses,
            np.array(split)[:, None] == np.array(MEASURED) if split else None,
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
    for name in ("labels", "superclasses", "split"):
        if name in arrays and arrays[name].shape != features.shape[:1]:
            raise BadData(
                f"Array '{name}' of {where} must have one entry for each of the "
                f"{features.shape[0]} rows of features; its shape is {list(arrays[name].shape)}."
            )
    for name in _KNOWN[1:]:
        kinds, wanted = ("USiu", "integers or strings") if name == "labels" else ("US", "strings")
        array = arrays.get(name)
        if array is not None and (array.dtype.kind not in kinds or array.ndim != 1):
            raise BadData(
                f"Array '{name}' of {where} must be a row of {wanted}; "
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
