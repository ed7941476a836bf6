"""miniImageNet: 100 classes of ImageNet, 64 base, 16 validation and 20 novel ones.

"Matching Networks for One Shot Learning" (Vinyals et al., 2016), with the class lists of
"Optimization as a Model for Few-Shot Learning" (Ravi and Larochelle, 2017).
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, final

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.imagenet.folders import (
    AbstractImagenet,
    ClassImages,
    ImagenetOptions,
    ListedClass,
    describe,
    mini_classes,
    source_signature,
)
from fsl_sweep.datasets.benchmarks.imagenet.mini_caches import NAMES, find_caches, read_caches
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import Progress, append_images
from fsl_sweep.datasets.splits.drawn import class_benchmark, marked
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.orchestrator.errors import BadData

OFFICIAL_IMAGES = 600
"""Images of a class in miniImageNet; what ImageNet has beyond them is unused, and so is fresh."""

_CSV = ("train.csv", "val.csv", "test.csv")
_Part = tuple[int, Sequence[Any], Callable[[Any], Image.Image]]


@final
class MiniImagenet(AbstractImagenet):
    """ImageNet folders, class folders or pickled caches.

    The first 600 images of a class in the pool are miniImageNet's. Where every base class has more
    (from ImageNet itself, or from the further files of the category split), all 600 are trained on
    and BaseGen is measured on the others: miniImageNet-Mod of "Two Sides of Meta-Learning
    Evaluation: In vs. Out of Distribution" (section 4). Otherwise a share of the 600 is held out.
    """

    name = "mini-imagenet"
    Options = ImagenetOptions
    listed = mini_classes()
    folders = ("mini-imagenet", "miniImageNet")
    pickled, pickles = staticmethod(find_caches), NAMES
    download = (
        "ImageNet (ILSVRC 2012, training images) from https://image-net.org/download, or "
        f"miniImageNet as class folders (n01532829/...), or as {NAMES}"
    )

    def signature(self, options: ImagenetOptions, root: Path | None) -> str:
        """Of the pickled files, or of the images of the 100 classes and the lists beside them."""
        with ExitStack() as stack:
            source = self.opened(root, stack)
            content = source_signature(source)
            if isinstance(source, dict):
                content = [content, _listed_images(self.given(root))]
            return canonical_digest(content)

    def prepare(
        self,
        options: ImagenetOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Class by class: the 600 images of miniImageNet, then what else a base class has."""
        with ExitStack() as stack:
            source = self.opened(root, stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            describe(pool, self.listed)
            if isinstance(source, list):
                found = read_caches(source, self.listed)
                parts = [
                    (label, rows.rows, rows.image)
                    for label, listed in enumerate(self.listed)
                    for rows in found[listed.name]
                ]
            else:
                positions = _listed_images(self.given(root))
                parts = _from_folders(source, positions, self.listed)
            append_images(pool, list(parts), options.image_size, progress)

    def assemble(self, options: ImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists; base examples as the class's description says."""
        pool = pools["main"]
        split = marked(pool)
        counts = np.bincount(pool.labels, minlength=len(pool.class_names))
        if not (counts[split["base"]] > OFFICIAL_IMAGES).all():
            return class_benchmark(self.name, pool, split, options.held_out, options.seed)
        official = _first_of_each(pool.labels, OFFICIAL_IMAGES)
        base = np.isin(pool.labels, split["base"])
        return Benchmark.of(
            self.name,
            train=ClassTasks(pool, split["base"], np.flatnonzero(base & official)),
            base=ClassTasks(pool, split["base"], np.flatnonzero(base & ~official)),
            val=ClassTasks(pool, split["val"]),
            novel=ClassTasks(pool, split["novel"]),
        )


def _first_of_each(labels: np.ndarray, count: int) -> np.ndarray:
    """Which examples are among the first ``count`` of their class, bool ``[N]``."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    among = np.empty(len(labels), dtype=bool)
    among[order] = np.arange(len(labels)) - starts < count
    return among


def _from_folders(
    source: Mapping[str, ClassImages],
    listed_images: Mapping[str, Sequence[int]],
    classes: Sequence[ListedClass],
) -> Iterator[_Part]:
    for label, listed in enumerate(classes):
        images = source[listed.name]
        official, further = _official(listed.name, images, listed_images.get(listed.name))
        chosen = [*official, *(further if listed.split == "base" else ())]
        yield label, chosen, images.image


def _official(
    name: str, images: ClassImages, positions: Sequence[int] | None
) -> tuple[list[Member], list[Member]]:
    """A class's 600 images, and the rest, each in the order of their numbers in ImageNet.

    The lists of Ravi and Larochelle name an image by its position among the class's files in
    ImageNet. Without those lists the 600 are drawn, the same ones for every user.
    """
    members = sorted(images.members, key=lambda member: _number(member.path))
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
            f"{images.tree.where} has {len(members)}. Is the training part of ImageNet complete?"
        )
    return (
        [members[position - 1] for position in sorted(taken)],
        [member for place, member in enumerate(members, 1) if place not in taken],
    )


def _number(path: str) -> tuple[int, str]:
    """``n01532829_123.JPEG`` is image 123; other names are in the order of the alphabet."""
    digits = path.rpartition(".")[0].rpartition("_")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else 0, path


def _listed_images(root: Path) -> dict[str, list[int]]:
    """The positions in the lists beside the images, if all three exist."""
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
