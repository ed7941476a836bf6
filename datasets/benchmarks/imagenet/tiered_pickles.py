"""tieredImageNet as its authors pickled it: a list of PNG files a split, and their labels.

``{train,val,test}_images_png.pkl`` is a list of encoded images of 84 x 84 pixels, several gigabytes
that are read into memory. ``{train,val,test}_labels.pkl`` has the class (``label_specific``) and
the superclass (``label_general``) of each image, as numbers that start at 0 in every split, and
their names in words.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.datasets.benchmarks.imagenet.classes import CLASS_SPLITS, ListedClass, describe
from fsl_sweep.datasets.files.decoding import decode, squared
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.pickles import load_dict, load_pickle, whole_numbers
from fsl_sweep.datasets.source import Progress
from fsl_sweep.datasets.store.writing import PoolWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData

NAMES = "{train,val,test}_images_png.pkl with {train,val,test}_labels.pkl"

_FILES = {"base": "train", "val": "val", "novel": "test"}
_CLASSES = {"base": 351, "val": 97, "novel": 160}
_SUPERCLASSES = {"base": 20, "val": 6, "novel": 8}
_MOST_SUPERCLASSES = 1000  # their numbers have gaps
_BATCH = 256


@dataclass(frozen=True)
class Pickles:
    """The folder that has all six files."""

    root: Path

    def signature(self) -> str:
        """Hex digest of the files' names and sizes."""
        return canonical_digest([[p.name, p.stat().st_size] for p in _paths(self.root)])

    def write(self, pool: PoolWriter, side: int, progress: Progress) -> None:
        """Append the images of every split to a pool, in the order of the files.

        Raises:
            BadData: a file is damaged, hostile or of another shape; an image cannot be decoded; or
                the number of images is not that of the labels, or of classes not as published.
            MachineFailure: a file does not fit into memory.
        """
        sheets = {split: _Labels.read(self._path(split, "labels"), split) for split in CLASS_SPLITS}
        classes = _distinct([c for split in CLASS_SPLITS for c in sheets[split].classes])
        describe(pool, classes)
        total = sum(len(sheet.specific) for sheet in sheets.values())
        done = first = 0
        for split in CLASS_SPLITS:
            sheet, path = sheets[split], self._path(split, "images_png")
            images = _encoded(path, len(sheet.specific))
            for start in range(0, len(images), _BATCH):
                labels = first + sheet.specific[start : start + _BATCH]
                batch = images[start : start + _BATCH]
                pool.append(_pixels(path, start, batch, side), labels)
                done += len(batch)
                progress(done, total)
            first += len(sheet.classes)

    def _path(self, split: str, what: str) -> Path:
        return self.root / f"{_FILES[split]}_{what}.pkl"


def find_pickles(root: Path) -> Pickles | None:
    """The pickled files in a folder, or None where there is none of them.

    Raises:
        MissingData: some are there, but not all; names them.
    """
    lacking = [path.name for path in _paths(root) if not path.is_file()]
    if len(lacking) == len(_paths(root)):
        return None
    if lacking:
        have = [path.name for path in _paths(root) if path.is_file()]
        raise MissingData(f"{root} has {', '.join(have)}, but not {', '.join(lacking)}.")
    return Pickles(root)


@dataclass(frozen=True)
class _Labels:
    """A split's classes in the order of their numbers, and the class of each image."""

    classes: Sequence[ListedClass]
    specific: np.ndarray

    @classmethod
    def read(cls, path: Path, split: str) -> "_Labels":
        sheet = load_dict(path, str(path))
        specific = _numbers(path, sheet, "label_specific")
        general = _numbers(path, sheet, "label_general")
        if len(specific) != len(general):
            raise BadData(
                f"{path} has {len(specific)} class labels, but {len(general)} of superclasses."
            )
        labels, examples = np.unique(specific, return_index=True)
        if not np.array_equal(labels, np.arange(_CLASSES[split])):
            raise BadData(
                f"{path} has {len(labels)} classes; the {_CLASSES[split]} of the published split, "
                "numbered from 0, are expected."
            )
        owners = general[examples]
        if (
            len(np.unique(owners)) != _SUPERCLASSES[split]
            or (owners[specific] != general).any()
            or general.max() >= _MOST_SUPERCLASSES
        ):
            raise BadData(
                f"{path} has {len(np.unique(general))} superclasses; {_SUPERCLASSES[split]} are "
                "expected, with small numbers, and each class in one of them."
            )
        words = _words(path, sheet, "label_specific_str", len(labels), f"class {split}")
        above = _words(path, sheet, "label_general_str", general.max() + 1, f"superclass {split}")
        listed = (ListedClass(w, split, above[g]) for w, g in zip(words, owners, strict=True))
        return cls(tuple(listed), specific)


def _paths(root: Path) -> list[Path]:
    parts = ("images_png", "labels")
    return [root / f"{split}_{part}.pkl" for split in _FILES.values() for part in parts]


def _encoded(path: Path, labels: int) -> list[Any]:
    """The encoded images of a file, as many as there are labels."""
    images = load_pickle(path)
    if not isinstance(images, list):
        raise BadData(f"{path} does not hold a list.")
    if len(images) != labels:
        raise BadData(f"{path} has {len(images)} images, but the file beside it {labels} labels.")
    return images


def _pixels(path: Path, start: int, images: Sequence[Any], side: int) -> np.ndarray:
    squares = []
    for number, image in enumerate(images, start):
        if isinstance(image, np.ndarray) and image.dtype == np.uint8:
            content = image.tobytes()
        elif isinstance(image, bytes):
            content = image
        else:
            raise BadData(f"{path}: item {number} is not an encoded image.")
        squares.append(squared(decode(content, f"{path}, image {number}", "rgb"), side))
    return np.stack(squares)


def _numbers(path: Path, sheet: Mapping[str, Any], key: str) -> np.ndarray:
    numbers = whole_numbers(sheet.get(key))
    if numbers is None or len(numbers) == 0 or numbers.min() < 0:
        raise BadData(f"{path} must have '{key}', whole numbers from 0, one for each image.")
    return numbers


def _words(path: Path, sheet: Mapping[str, Any], key: str, count: int, instead: str) -> list[str]:
    """Names by number; where the file lacks a name, as real ones do, it is made of the number."""
    words = sheet.get(key, [])
    if isinstance(words, np.ndarray):
        words = words.tolist()
    if not isinstance(words, list) or not all(isinstance(word, str | bytes) for word in words):
        raise BadData(f"{path}: '{key}' must be a list of names.")
    texts = [w.decode("utf-8", "replace") if isinstance(w, bytes) else w for w in words]
    return [texts[n] if n < len(texts) else f"{instead} {n}" for n in range(count)]


def _distinct(classes: Sequence[ListedClass]) -> list[ListedClass]:
    """Classes of one name, which ImageNet has, get their numbers added."""
    uses = Counter(c.name for c in classes)
    return [
        ListedClass(f"{c.name} #{n}", c.split, c.superclass) if uses[c.name] > 1 else c
        for n, c in enumerate(classes)
    ]
