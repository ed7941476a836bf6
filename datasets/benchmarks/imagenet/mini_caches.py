"""miniImageNet as people pickled it: arrays of decoded images of 84 x 84 pixels.

Two families of files are in use. ``mini-imagenet-cache-{train,val,test}.pkl`` came with
"Meta-Learning for Semi-Supervised Few-Shot Classification" (Ren et al., 2018): ``image_data`` and
``class_dict``, from class names to row numbers. ``miniImageNet_category_split_*.pickle`` came with
"Dynamic Few-Shot Visual Learning without Forgetting" (Gidaris and Komodakis, 2018): ``data``,
``labels`` and ``catname2label``. Two more files hold images of the training classes that are not
among the 600.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmarks.imagenet.folders import ListedClass, complete_files
from fsl_sweep.datasets.files.pickles import as_text, load_dict, whole_numbers
from fsl_sweep.orchestrator.errors import BadData

_CACHES = (
    "mini-imagenet-cache-train.pkl",
    "mini-imagenet-cache-val.pkl",
    "mini-imagenet-cache-test.pkl",
)
_CATEGORIES = (
    "miniImageNet_category_split_train_phase_train.pickle",
    "miniImageNet_category_split_val.pickle",
    "miniImageNet_category_split_test.pickle",
)
_FURTHER = (
    "miniImageNet_category_split_train_phase_val.pickle",
    "miniImageNet_category_split_train_phase_test.pickle",
)
NAMES = "mini-imagenet-cache-{train,val,test}.pkl or miniImageNet_category_split_*.pickle"


@dataclass(frozen=True)
class Rows:
    """Some rows of a file's images ``[N, H, W, 3]``: those of one class."""

    images: np.ndarray
    rows: list[int]

    def image(self, row: int) -> Image.Image:
        """The image of a row."""
        return Image.fromarray(self.images[row])


def find_caches(root: Path) -> list[Path] | None:
    """The pickled files in a folder, those of base first, then val and novel; None without any."""
    if files := complete_files(root, _CACHES):
        return files
    if files := complete_files(root, _CATEGORIES):
        files[1:1] = [path for name in _FURTHER if (path := root / name).is_file()]
    return files


def read_caches(files: Sequence[Path], listed: Sequence[ListedClass]) -> dict[str, list[Rows]]:
    """Where each class's images are, in arrays that are read into memory."""
    found: dict[str, list[Rows]] = {}
    splits = ["base"] * (len(files) - 2) + ["val", "novel"]
    for split, path in zip(splits, files, strict=True):
        wanted = {c.name for c in listed if c.split == split}
        images, rows = _read(path)
        if set(rows) != wanted:
            strange = sorted(set(rows) ^ wanted)
            raise BadData(
                f"{path} has {len(rows)} classes; the {len(wanted)} of the published list are "
                f"expected. They differ in {', '.join(strange[:5])}."
            )
        for name, numbers in rows.items():
            found.setdefault(name, []).append(Rows(images, numbers.tolist()))
    return found


def _read(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A file's images, and the rows of each of its classes."""
    content = load_dict(path, str(path))
    if {"image_data", "class_dict"} <= set(content):
        images, names = content["image_data"], content["class_dict"]
    elif {"data", "labels", "catname2label"} <= set(content):
        images, names = content["data"], content["catname2label"]
    else:
        raise BadData(
            f"{path} has the keys {', '.join(sorted(content))[:200]}; expected are "
            "image_data and class_dict, or data, labels and catname2label."
        )
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.shape[3:] != (3,):
        shape = f"{getattr(images, 'dtype', type(images).__name__)} {np.shape(images)}"
        raise BadData(f"{path} must have images as uint8 [N, height, width, 3]; it has {shape}.")
    if not isinstance(names, dict):
        raise BadData(f"{path} must have its classes as a dict from names.")
    labels = whole_numbers(content["labels"]) if "labels" in content else None
    if "labels" in content and (labels is None or len(labels) != len(images)):
        raise BadData(f"{path} must have a whole number as label for each of {len(images)} images.")
    rows = {
        as_text(name): value if labels is None else np.flatnonzero(labels == value)
        for name, value in names.items()
    }
    return images, {name: _checked(path, name, value, len(images)) for name, value in rows.items()}


def _checked(path: Path, name: str, value: Any, images: int) -> np.ndarray:
    rows = whole_numbers(value)
    if (
        rows is None
        or not len(rows)
        or len(np.unique(rows)) < len(rows)
        or not (0 <= rows.min() <= rows.max() < images)
    ):
        raise BadData(f"{path}: class {name} must have different rows from 0 to {images - 1}.")
    return rows
