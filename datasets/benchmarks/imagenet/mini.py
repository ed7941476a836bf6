"""miniImageNet: 100 classes of ImageNet, 64 base, 16 validation and 20 novel ones.

"Matching Networks for One Shot Learning" (Vinyals et al., 2016), with the class lists of
"Optimization as a Model for Few-Shot Learning" (Ravi and Larochelle, 2017).

Two families of pickled arrays of decoded images of 84 x 84 pixels are in use.
``mini-imagenet-cache-{train,val,test}.pkl`` came with "Meta-Learning for Semi-Supervised Few-Shot
Classification" (Ren et al., 2018): ``image_data`` and ``class_dict``, from class names to row
numbers. ``miniImageNet_category_split_*.pickle`` came with "Dynamic Few-Shot Visual Learning
without Forgetting" (Gidaris and Komodakis, 2018): ``data``, ``labels`` and ``catname2label``. Two
more files hold images of the training classes that are not among the 600.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.imagenet.abstract import (
    AbstractImagenet,
    ImagenetOptions,
    Pickled,
    complete_files,
)
from fsl_sweep.datasets.benchmarks.imagenet.folders import mini_classes
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.files.pickles import as_text, load_dict, whole_numbers
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import Part
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData

OFFICIAL_IMAGES = 600
"""Images of a class in miniImageNet; what ImageNet has beyond them is unused, and so is fresh."""

_CSV = ("train.csv", "val.csv", "test.csv")
_CACHES = tuple(f"mini-imagenet-cache-{part}.pkl" for part in ("train", "val", "test"))
_CATEGORY = "miniImageNet_category_split_{}.pickle"
_CATEGORIES = tuple(map(_CATEGORY.format, ("train_phase_train", "val", "test")))
_FURTHER = tuple(map(_CATEGORY.format, ("train_phase_val", "train_phase_test")))
_PICKLES = "mini-imagenet-cache-{train,val,test}.pkl or miniImageNet_category_split_*.pickle"


@final
class MiniImagenet(AbstractImagenet):
    """ImageNet folders, class folders or pickled caches.

    The first 600 images of a class in the pool are miniImageNet's. Where every base class has more
    (from ImageNet itself, or from the further files of the category split), all 600 are trained on
    and BaseGen is measured on the others: miniImageNet-Mod of "Two Sides of Meta-Learning
    Evaluation: In vs. Out of Distribution" (section 4). Otherwise a share of the 600 is held out.
    """

    name = "mini-imagenet"
    listed = mini_classes()
    pickles = _PICKLES
    download = (
        "ImageNet (ILSVRC 2012, training images) from https://image-net.org/download, or "
        f"miniImageNet as class folders (n01532829/...), or as {_PICKLES}"
    )

    def pickled(self, place: Path) -> list[Path] | None:
        """Find the files of base first, then val and novel."""
        if files := complete_files(place, _CACHES):
            return files
        if files := complete_files(place, _CATEGORIES):
            files[1:1] = [path for name in _FURTHER if (path := place / name).is_file()]
        return files

    def unpickled(self, files: Sequence[Path]) -> Pickled:
        """Read class by class; all arrays are in memory together."""
        parts_of: dict[str, list[Part]] = {}
        label = {listed.name: number for number, listed in enumerate(self.listed)}
        splits = ["base"] * (len(files) - 2) + ["val", "novel"]
        for split, path in zip(splits, files, strict=True):
            wanted = {c.name for c in self.listed if c.split == split}
            images, rows = _read(path)
            if set(rows) != wanted:
                strange = sorted(set(rows) ^ wanted)
                raise BadData(
                    f"{path} has {len(rows)} classes; the {len(wanted)} of the published list are "
                    f"expected. They differ in {', '.join(strange[:5])}."
                )
            for name, numbers in rows.items():
                part = label[name], numbers.tolist(), partial(_row, images)
                parts_of.setdefault(name, []).append(part)
        parts = [part for listed in self.listed for part in parts_of[listed.name]]
        return self.listed, parts, sum(len(rows) for _, rows, _ in parts)

    def signed(self, images: Mapping[str, str], root: Path) -> Any:
        """Add the lists beside the images."""
        return [images, _listed_images(root)]

    def parts(self, source: Mapping[str, FileTree], root: Path) -> Iterable[Part]:
        """List class by class miniImageNet's 600 images, then what else a base class has."""
        positions = _listed_images(root)
        base = {listed.name for listed in self.listed if listed.split == "base"}
        for label, (name, tree) in enumerate(source.items()):
            official, further = _official(name, tree, positions.get(name))
            members = [*official, *(further if name in base else ())]
            yield label, members, partial(read_image, tree, colour="rgb")

    def assemble(self, options: ImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes by the published lists, base examples as the class's description says."""
        pool = pools["main"]
        split = self.partition(options, pool)
        counts = np.bincount(pool.labels, minlength=len(pool.class_names))
        if not (counts[split["base"]] > OFFICIAL_IMAGES).all():
            return super().assemble(options, pools)
        place = np.arange(len(pool)) - np.searchsorted(pool.labels, pool.labels)  # in its class
        official = place < OFFICIAL_IMAGES
        base = np.isin(pool.labels, split["base"])
        return Benchmark.of(
            self.name,
            train=ClassTasks(pool, split["base"], np.flatnonzero(base & official)),
            base=ClassTasks(pool, split["base"], np.flatnonzero(base & ~official)),
            val=ClassTasks(pool, split["val"]),
            novel=ClassTasks(pool, split["novel"]),
        )


def _official(
    name: str, tree: FileTree, positions: Sequence[int] | None
) -> tuple[list[Member], list[Member]]:
    """Return a class's 600 images, and the rest, each in the order of ImageNet's numbers.

    The lists of Ravi and Larochelle name an image by its position among the class's files in
    ImageNet. Without those lists the 600 are drawn, the same ones for every user.
    """
    members = sorted(tree.members, key=lambda member: _number(member.path))
    if len(members) <= OFFICIAL_IMAGES:
        return members, []
    if positions is None:
        shuffled = named_generator(0, "mini-imagenet", name).permutation(len(members))
        taken = {int(place) for place in shuffled[:OFFICIAL_IMAGES] + 1}
    else:
        taken = set(positions)
    if not taken <= set(range(1, len(members) + 1)):
        raise BadData(
            f"The lists {', '.join(_CSV)} name image {max(taken)} of class {name}, but "
            f"{tree.where} has {len(members)}. Is the training part of ImageNet complete?"
        )
    return (
        [members[position - 1] for position in sorted(taken)],
        [member for place, member in enumerate(members, 1) if place not in taken],
    )


def _number(path: str) -> tuple[int, str]:
    """Sort ``n01532829_123.JPEG`` as image 123, other names by the alphabet."""
    digits = path.rpartition(".")[0].rpartition("_")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0, path


def _listed_images(root: Path) -> dict[str, list[int]]:
    """Read the positions in the lists beside the images, if all three exist."""
    listed: dict[str, list[int]] = {}
    if not all((root / name).is_file() for name in _CSV):
        return listed
    for path in (root / name for name in _CSV):
        try:
            rows = list(csv.reader(path.read_text("utf-8").splitlines()))[1:]
            for file, name in rows:
                listed.setdefault(name, []).append(int(file.removeprefix(name).partition(".")[0]))
        except (OSError, ValueError, csv.Error) as failure:
            raise BadData(
                f"{path} must have the columns filename and label, such as "
                f"n0153282900000005.jpg,n01532829 ({failure})."
            ) from failure
    return listed


def _read(path: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Read a file's images, and the rows of each of its classes."""
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


def _row(images: np.ndarray, row: int) -> Image.Image:
    return Image.fromarray(images[row])


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
