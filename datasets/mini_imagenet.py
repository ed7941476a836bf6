"""miniImageNet: 100 classes of ImageNet, 64 base, 16 validation and 20 novel ones.

"Matching Networks for One Shot Learning" (Vinyals et al., 2016), with the class lists of
"Optimization as a Model for Few-Shot Learning" (Ravi and Larochelle, 2017).
"""

import csv
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.file_tree import Member
from fsl_sweep.datasets.imagenet_classes import ListedClass, describe, mini_classes, partition
from fsl_sweep.datasets.imagenet_folders import ClassImages, in_batches, open_classes
from fsl_sweep.datasets.mini_imagenet_caches import NAMES, Caches, find_caches
from fsl_sweep.datasets.pool import ImagePool, canonical_digest
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.splits import class_benchmark, named_generator
from fsl_sweep.datasets.store_writer import PoolWriter, StoreWriter
from fsl_sweep.datasets.tasks import ClassTasks
from fsl_sweep.orchestrator.errors import BadData, MissingData

OFFICIAL_IMAGES = 600
"""Images of a class in miniImageNet; what ImageNet has beyond them is unused, and so is fresh."""

_BATCH = 256
_CSV = ("train.csv", "val.csv", "test.csv")


class MiniImagenetOptions(BaseModel):
    """Options of ``mini-imagenet``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_size: int = Field(84, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of base examples for BaseGen, where no further ImageNet images are at "
        "hand",
    )
    seed: int = Field(0, ge=0, description="of the held-out examples")


@final
class MiniImagenet(AbstractBenchmark[MiniImagenetOptions]):
    """ImageNet folders, class folders or pickled caches.

    The first 600 images of a class in the pool are miniImageNet's. Where every base class has more
    (from ImageNet itself, or from the further files of the category split), all 600 are trained on
    and BaseGen is measured on the others: miniImageNet-Mod of "Two Sides of Meta-Learning
    Evaluation: In vs. Out of Distribution" (section 4). Else a share of the 600 is held out.
    """

    name = "mini-imagenet"
    Options = MiniImagenetOptions
    version = 1
    download = (
        "ImageNet (ILSVRC 2012, training images) from https://image-net.org/download, or "
        f"miniImageNet as class folders (n01532829/...), or as {NAMES}"
    )

    def pool_options(self, options: MiniImagenetOptions) -> dict[str, Any]:
        """The images' size."""
        return {"image_size": options.image_size}

    def signature(self, options: MiniImagenetOptions, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the pickled files, or of the images of the 100 classes and the lists beside them."""
        with ExitStack() as stack:
            source = _open(root, stack)
            if isinstance(source, Caches):
                return source.signature()
            content = {name: images.signature() for name, images in source.items()}
            return canonical_digest([content, _listed_images(_given(root))])

    def prepare(
        self,
        options: MiniImagenetOptions,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Class by class: the 600 images of miniImageNet, then what else a base class has."""
        classes = mini_classes()
        with ExitStack() as stack:
            source = _open(root, stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            describe(pool, classes)
            if isinstance(source, Caches):
                _from_caches(source, classes, pool, options.image_size, progress)
            else:
                listed = _listed_images(_given(root))
                _from_folders(source, listed, classes, pool, options.image_size, progress)

    def assemble(self, options: MiniImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists; base examples as the class's description says."""
        pool = pools["main"]
        split = partition(pool)
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

    def expected(self, options: MiniImagenetOptions) -> Mapping[str, int]:  # noqa: ARG002 (an interface)
        """The published counts."""
        return {"base": 64, "val": 16, "novel": 20}


def _first_of_each(labels: np.ndarray, count: int) -> np.ndarray:
    """Which examples are among the first ``count`` of their class, bool ``[N]``."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    among = np.empty(len(labels), dtype=bool)
    among[order] = np.arange(len(labels)) - starts < count
    return among


def _given(root: Path | None) -> Path:
    if root is None:
        raise MissingData("mini-imagenet is prepared from its files: set benchmark.root.")
    return root.expanduser()


def _open(root: Path | None, stack: ExitStack) -> Caches | dict[str, ClassImages]:
    start = _given(root)
    places = [start, start / "mini-imagenet", start / "miniImageNet"]
    for place in places:
        caches = find_caches(place)
        if caches is not None:
            return caches
    for place in places:
        if place.exists():
            classes = open_classes(place, [c.name for c in mini_classes()], stack)
            if classes is not None:
                return classes
    raise MissingData(
        f"miniImageNet is not in {start}: neither class folders such as n01532829 (alone, or under "
        f"train, val and test) nor {NAMES}. Get {MiniImagenet.download}."
    )


def _from_caches(
    caches: Caches, classes: Sequence[ListedClass], pool: PoolWriter, side: int, progress: Progress
) -> None:
    found = caches.classes(classes)
    total = sum(len(rows) for parts in found.values() for rows in parts)
    done = 0
    for label, listed in enumerate(classes):
        for rows in found[listed.name]:
            for start in range(0, len(rows), _BATCH):
                stop = min(start + _BATCH, len(rows))
                pool.append(rows.pixels(start, stop, side), label)
                done += stop - start
                progress(done, total)


def _from_folders(
    source: Mapping[str, ClassImages],
    listed_images: Mapping[str, Sequence[int]],
    classes: Sequence[ListedClass],
    pool: PoolWriter,
    side: int,
    progress: Progress,
) -> None:
    chosen: list[list[Member]] = []
    for listed in classes:
        official, further = _official(
            listed.name, source[listed.name], listed_images.get(listed.name)
        )
        chosen.append([*official, *(further if listed.split == "base" else ())])
    total, done = sum(map(len, chosen)), 0
    for label, listed in enumerate(classes):
        images = source[listed.name]
        for batch in in_batches(chosen[label], _BATCH):
            pool.append(images.pixels(batch, side), label)
            done += len(batch)
            progress(done, total)


def _official(
    name: str, images: ClassImages, positions: Sequence[int] | None
) -> tuple[list[Member], list[Member]]:
    """A class's 600 images, and the rest, each in the order of their numbers in ImageNet.

    The lists of Ravi and Larochelle name an image by its position among the class's files in
    ImageNet. Without those lists the 600 are drawn, the same ones for everybody.
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
    """The positions that the lists beside the images give, if all three are there."""
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
