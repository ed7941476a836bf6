"""tieredImageNet: 608 classes of ImageNet whose superclasses are in one split each.

"Meta-Learning for Semi-Supervised Few-Shot Classification" (Ren et al., 2018): 351 base classes in
20 superclasses, 97 validation classes in 6 and 160 novel ones in 8, 779,165 images.

Its authors' pickles ``{train,val,test}_images_png.pkl`` are lists of encoded images of 84 x 84
pixels, several gigabytes that are read into memory. ``{train,val,test}_labels.pkl`` has the class
(``label_specific``) and the superclass (``label_general``) of each image, as numbers that start at
0 in every split, and their names in words.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.benchmarks.imagenet.abstract import (
    AbstractImagenet,
    Pickled,
    complete_files,
)
from fsl_sweep.datasets.benchmarks.imagenet.folders import ListedClass, tiered_classes
from fsl_sweep.datasets.files.decoding import decode
from fsl_sweep.datasets.files.pickles import load_dict, load_pickle, whole_numbers
from fsl_sweep.datasets.source import Part
from fsl_sweep.orchestrator.errors import BadData

_PICKLES = "{train,val,test}_images_png.pkl with {train,val,test}_labels.pkl"
_FILES = tuple(
    f"{part}_{what}.pkl" for part in ("train", "val", "test") for what in ("images_png", "labels")
)
_CLASSES = {"base": 351, "val": 97, "novel": 160}


@final
class TieredImagenet(AbstractImagenet):
    """The pickled PNG lists, or ImageNet folders."""

    name = "tiered-imagenet"
    listed = tiered_classes()
    pickles = _PICKLES
    download = (
        f"tiered-imagenet.tar, extracted ({_PICKLES}), from the address in the README of "
        "https://github.com/renmengye/few-shot-ssl-public, or ImageNet (ILSVRC 2012, training "
        "images) from https://image-net.org/download"
    )

    def pickled(self, place: Path) -> list[Path] | None:
        """Find all six files."""
        return complete_files(place, _FILES)

    def unpickled(self, files: Sequence[Path]) -> Pickled:
        """Read split by split and image by image, with one split's images in memory."""
        sheets = [_labels(path, s) for s, path in zip(MEASURED, files[1::2], strict=True)]
        classes = _distinct([c for classes, _ in sheets for c in classes])
        return classes, _parts(files[::2], sheets), sum(len(of) for _, of in sheets)


def _parts(
    files: Sequence[Path], sheets: Sequence[tuple[list[ListedClass], np.ndarray]]
) -> Iterator[Part]:
    first = 0
    for path, (classes, specific) in zip(files, sheets, strict=True):
        images = load_pickle(path)
        if not isinstance(images, list) or len(images) != len(specific):
            raise BadData(
                f"{path} must hold a list of {len(specific)} images, as many as the file "
                "beside it has labels."
            )

        def image(number: int, path: Path = path, images: list[Any] = images) -> Image.Image:
            content = images[number]
            content = content.tobytes() if isinstance(content, np.ndarray) else content
            if not isinstance(content, bytes):
                raise BadData(f"{path}: item {number} is not an encoded image.")
            return decode(content, f"{path}, image {number}", "rgb")

        yield first + specific, range(len(images)), image
        first += len(classes)


def _labels(path: Path, split: str) -> tuple[list[ListedClass], np.ndarray]:
    """Read a split's classes in the order of their numbers, and the class of each image."""
    sheet = load_dict(path, str(path))
    specific = _numbers(path, sheet, "label_specific")
    general = _numbers(path, sheet, "label_general")
    labels, examples = np.unique(specific, return_index=True)
    if len(specific) != len(general) or not len(labels) == labels[-1] + 1 == _CLASSES[split]:
        raise BadData(
            f"{path} must have the {_CLASSES[split]} classes of the published split, numbered "
            "from 0, and the superclass of each image."
        )
    words = _words(path, sheet, "label_specific_str", labels, f"class {split}")
    above = _words(path, sheet, "label_general_str", general[examples], f"superclass {split}")
    return [ListedClass(w, split, a) for w, a in zip(words, above, strict=True)], specific


def _numbers(path: Path, sheet: Mapping[str, Any], key: str) -> np.ndarray:
    numbers = whole_numbers(sheet.get(key))
    if numbers is None or len(numbers) == 0 or numbers.min() < 0:
        raise BadData(f"{path} must have '{key}', whole numbers from 0, one for each image.")
    return numbers


def _words(
    path: Path, sheet: Mapping[str, Any], key: str, numbers: np.ndarray, instead: str
) -> list[str]:
    """Return the names of numbers; where the file lacks one, as real ones do, it is made up."""
    words = sheet.get(key, [])
    if isinstance(words, np.ndarray):
        words = words.tolist()
    if not isinstance(words, list) or not all(isinstance(word, str | bytes) for word in words):
        raise BadData(f"{path}: '{key}' must be a list of names.")
    texts = [w if isinstance(w, str) else w.decode("utf-8", "replace") for w in words]
    return [texts[n] if n < len(texts) else f"{instead} {n}" for n in numbers.tolist()]


def _distinct(classes: Sequence[ListedClass]) -> list[ListedClass]:
    """Add their numbers to classes of the same name, which ImageNet has."""
    uses = Counter(c.name for c in classes)
    return [
        ListedClass(f"{c.name} #{n}", c.split, c.superclass) if uses[c.name] > 1 else c
        for n, c in enumerate(classes)
    ]
