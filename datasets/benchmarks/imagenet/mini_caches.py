"""miniImageNet as people pickled it: arrays of decoded images of 84 x 84 pixels.

Two families of files are in use. ``mini-imagenet-cache-{train,val,test}.pkl`` came with
"Meta-Learning for Semi-Supervised Few-Shot Classification" (Ren et al., 2018): ``image_data`` and
``class_dict``, from class names to row numbers. ``miniImageNet_category_split_*.pickle`` came with
"Dynamic Few-Shot Visual Learning without Forgetting" (Gidaris and Komodakis, 2018): ``data``,
``labels`` and ``catname2label``. Two more files hold images of the training classes that are not
among the 600.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmarks.imagenet.classes import ListedClass
from fsl_sweep.datasets.files.decoding import squared
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.pickles import as_text, load_dict, whole_numbers
from fsl_sweep.orchestrator.errors import BadData, MissingData

_CACHES = {
    "base": "mini-imagenet-cache-train.pkl",
    "val": "mini-imagenet-cache-val.pkl",
    "novel": "mini-imagenet-cache-test.pkl",
}
_CATEGORIES = {
    "base": "miniImageNet_category_split_train_phase_train.pickle",
    "val": "miniImageNet_category_split_val.pickle",
    "novel": "miniImageNet_category_split_test.pickle",
}
_FURTHER = (
    "miniImageNet_category_split_train_phase_val.pickle",
    "miniImageNet_category_split_train_phase_test.pickle",
)
NAMES = "mini-imagenet-cache-{train,val,test}.pkl or miniImageNet_category_split_*.pickle"


@dataclass(frozen=True)
class Rows:
    """Some rows of a file's images ``[N, H, W, 3]``: those of one class."""

    images: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def pixels(self, start: int, stop: int, side: int) -> np.ndarray:
        """The images of ``rows[start:stop]``, uint8 ``[stop - start, 3, side, side]``."""
        images = self.images[self.rows[start:stop]]
        if images.shape[1:3] == (side, side):
            return np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        return np.stack([squared(Image.fromarray(image), side) for image in images])


@dataclass(frozen=True)
class Caches:
    """The pickled files of a folder.

    Attributes:
        files: of each split; base may have several, the official images first.
    """

    files: Mapping[str, Sequence[Path]]

    def signature(self) -> str:
        """Hex digest of the files' names and sizes."""
        every = [path for paths in self.files.values() for path in paths]
        return canonical_digest([[path.name, path.stat().st_size] for path in every])

    def classes(self, listed: Sequence[ListedClass]) -> dict[str, list[Rows]]:
        """Where each class's images are, in arrays that are read into memory.

        Raises:
            BadData: a file is damaged, hostile or of another shape, or its classes are not those
                of its split.
        """
        found: dict[str, list[Rows]] = {}
        for split, paths in self.files.items():
            wanted = {c.name for c in listed if c.split == split}
            for path in paths:
                images, rows = _read(path)
                if set(rows) != wanted:
                    raise BadData(_wrong_classes(path, set(rows), wanted))
                for name, numbers in rows.items():
                    found.setdefault(name, []).append(Rows(images, numbers))
        return found


def find_caches(root: Path) -> Caches | None:
    """The pickled files in a folder, or None where there is none of them.

    Raises:
        MissingData: some are there, but not all; names them.
    """
    for names in (_CACHES, _CATEGORIES):
        here = {split: root / name for split, name in names.items() if (root / name).is_file()}
        if here and len(here) < len(names):
            lacking = [name for split, name in names.items() if split not in here]
            have = ", ".join(path.name for path in here.values())
            raise MissingData(f"{root} has {have}, but not {', '.join(lacking)}.")
        if here:
            further = _FURTHER if names is _CATEGORIES else ()
            more = [root / name for name in further if (root / name).is_file()]
            return Caches({s: [p, *(more if s == "base" else ())] for s, p in here.items()})
    return None


def _read(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A file's images, and the rows of each of its classes."""
    content = load_dict(path, str(path))
    if {"image_data", "class_dict"} <= set(content):
        images, rows = _images(path, content["image_data"]), _by_name(path, content["class_dict"])
    elif {"data", "labels", "catname2label"} <= set(content):
        images = _images(path, content["data"])
        rows = _by_label(path, len(images), content["labels"], content["catname2label"])
    else:
        raise BadData(
            f"{path} has the keys {', '.join(sorted(content))[:200]}; expected are "
            "image_data and class_dict, or data, labels and catname2label."
        )
    for name, numbers in rows.items():
        if len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= len(images):
            raise BadData(
                f"{path}: class {name} has rows that are not among the {len(images)} images, or "
                "none."
            )
        if len(np.unique(numbers)) != len(numbers):
            raise BadData(f"{path}: class {name} has an image twice.")
    return images, rows


def _images(path: Path, images: Any) -> np.ndarray:
    if (
        not isinstance(images, np.ndarray)
        or images.dtype != np.uint8
        or images.ndim != 4
        or images.shape[3] != 3
        or min(images.shape[1:3]) < 1
    ):
        shape = (
            f"{images.dtype} {list(images.shape)}"
            if isinstance(images, np.ndarray)
            else type(images).__name__
        )
        raise BadData(f"{path} must have images as uint8 [N, height, width, 3]; it has {shape}.")
    return images


def _by_name(path: Path, class_rows: Any) -> dict[str, np.ndarray]:
    if not isinstance(class_rows, dict):
        raise BadData(f"{path}: class_dict must be a dict from class names to rows.")
    return {as_text(name): _numbers(path, rows, "class_dict") for name, rows in class_rows.items()}


def _by_label(path: Path, images: int, labels: Any, names: Any) -> dict[str, np.ndarray]:
    if not isinstance(names, dict):
        raise BadData(f"{path}: catname2label must be a dict from class names to labels.")
    numbers = _numbers(path, labels, "labels")
    if len(numbers) != images:
        raise BadData(f"{path} has {images} images but {len(numbers)} labels.")
    return {as_text(name): np.flatnonzero(numbers == label) for name, label in names.items()}


def _numbers(path: Path, values: Any, what: str) -> np.ndarray:
    numbers = whole_numbers(values)
    if numbers is None:
        raise BadData(f"{path}: {what} must hold only whole numbers.")
    return numbers


def _wrong_classes(path: Path, found: set[str], wanted: set[str]) -> str:
    lacking, strange = sorted(wanted - found), sorted(found - wanted)
    lacks = f" It lacks {', '.join(lacking[:5])}." if lacking else ""
    has = f" It has {', '.join(strange[:5])}, not of that split." if strange else ""
    return (
        f"{path} has {len(found)} classes; the {len(wanted)} of the published list are "
        f"expected.{lacks}{has}"
    )
