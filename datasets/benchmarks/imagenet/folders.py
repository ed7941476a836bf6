"""The lists of ImageNet's classes, and its images by class, however people keep them.

Class folders are named by WordNet id (``n01532829/``), at the top, under ``train``, ``val`` and
``test`` or deep in ImageNet's own tree, in a folder or an archive. Or files whose names begin with
the id (``n0153282900000005.jpg``) are all in one folder. Only the wanted classes are read: ImageNet
has more than a million files.
"""

import os
import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image
from pydantic import Field

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Part, Progress, append_images
from fsl_sweep.datasets.splits.drawn import class_benchmark, marked, marks, read_facts
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData


class ImagenetOptions(Options):
    """Options of a benchmark made of ImageNet."""

    image_size: int = Field(84, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(
        0.2, gt=0, lt=1, description="share of base examples for BaseGen, if no others are at hand"
    )
    seed: int = Field(0, ge=0, description="of the held-out examples")


@dataclass(frozen=True)
class ListedClass:
    """A class of a published list: its WordNet id, or what the data call it."""

    name: str
    split: str
    superclass: str | None = None


def mini_classes() -> tuple[ListedClass, ...]:
    """The 64, 16 and 20 classes of miniImageNet (Ravi and Larochelle, 2017), sorted by name."""
    lists = read_facts("mini_imagenet_classes.json")["classes"]
    return _sorted(ListedClass(name, split) for split in MEASURED for name in lists[split])


def tiered_classes() -> tuple[ListedClass, ...]:
    """The 351, 97 and 160 classes of tieredImageNet (Ren et al., 2018), sorted by name."""
    lists = read_facts("tiered_imagenet_classes.json")["superclasses"]
    return _sorted(
        ListedClass(name, split, superclass)
        for split in MEASURED
        for superclass, names in lists[split].items()
        for name in names
    )


def _sorted(classes: Iterable[ListedClass]) -> tuple[ListedClass, ...]:
    return tuple(sorted(classes, key=lambda listed: listed.name))


_CLASS = re.compile(r"n\d{8}")
_FLAT = re.compile(r"(n\d{8})\d{8}\.\w+")
_INSIDE = ("", "train", "val", "test", "images", "ILSVRC/Data/CLS-LOC/train", "Data/CLS-LOC/train")
_SHOWN = 5


@dataclass(frozen=True)
class ClassImages:
    """The files of one class, sorted by path, and the tree to read them from."""

    tree: FileTree
    members: Sequence[Member]

    def signature(self) -> str:
        """Hex digest of the files' names, sizes and stamps, not of their folders."""
        rows = [[m.path.rpartition("/")[2], m.size, m.stamp] for m in self.members]
        return canonical_digest(rows)

    def image(self, member: Member) -> Image.Image:
        """The image in one of its files, in colour."""
        return read_image(self.tree, member, "rgb")


Pickled = tuple[Sequence[ListedClass], Iterable[Part], int]
"""The classes and the images of pickled files, and how many images there are."""


class AbstractImagenet(AbstractBenchmark[Any]):
    """Images of the classes of a published list, in class folders or pickled.

    Attributes:
        listed: the classes.
        folders: names of folders in which the source may lie.
        pickles: how pickled files are called; they go before class folders.
    """

    Options = ImagenetOptions
    version = 1
    pooled = frozenset({"image_size"})
    listed: ClassVar[tuple[ListedClass, ...]]
    folders: ClassVar[tuple[str, ...]]
    pickles: ClassVar[str]

    @abstractmethod
    def pickled(self, place: Path) -> list[Path] | None:
        """The pickled files in a folder, or None without any."""

    @abstractmethod
    def unpickled(self, files: Sequence[Path]) -> Pickled:
        """What pickled files hold."""

    def parts(self, source: Mapping[str, ClassImages], root: Path) -> Iterable[Part]:
        """The images of class folders: all, class by class."""
        return [(label, c.members, c.image) for label, c in enumerate(source.values())]

    def signed(self, images: Mapping[str, str], root: Path) -> Any:
        """What the signature is of, from that of each class's images."""
        return images

    def signature(self, options: ImagenetOptions, root: Path | None) -> str:
        """Of the pickled files, or of the images of the listed classes."""
        with ExitStack() as stack:
            source = self._opened(root, stack)
            if isinstance(source, list):
                return canonical_digest([[path.name, path.stat().st_size] for path in source])
            images = {name: images.signature() for name, images in source.items()}
            return canonical_digest(self.signed(images, self.given(root)))

    def prepare(
        self, options: ImagenetOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Image by image as pickled files have them, or class by class."""
        with ExitStack() as stack:
            source = self._opened(root, stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            classes, total = self.listed, None
            if isinstance(source, list):
                classes, parts, total = self.unpickled(source)
            else:
                parts = [*self.parts(source, self.given(root))]
            superclasses = [c.superclass for c in classes if c.superclass is not None]
            splits = marks([c.split for c in classes])
            pool.describe([c.name for c in classes], superclasses or None, **splits)
            append_images(pool, parts, options.image_size, progress, total)

    def assemble(self, options: ImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Classes by the published lists, or by the files that they came in."""
        pool = pools["main"]
        return class_benchmark(self.name, pool, marked(pool), options.held_out, options.seed)

    def expected(self, options: ImagenetOptions) -> Mapping[str, int]:
        """The published counts."""
        return {split: sum(c.split == split for c in self.listed) for split in MEASURED}

    def _opened(self, root: Path | None, stack: ExitStack) -> list[Path] | dict[str, ClassImages]:
        """Pickled files, or the images of every class, which the stack keeps open."""
        start, wanted = self.given(root), [c.name for c in self.listed]
        places = [start, *(start / name for name in self.folders)]
        for place in places:
            if files := self.pickled(place):
                return files
        for place in places:
            if place.exists() and (classes := open_classes(place, wanted, stack)):
                return classes
        raise MissingData(
            f"{self.name} is not in {start}: neither {self.pickles} nor class folders such as "
            f"{wanted[0]} (directly, or under train, val and test). Get {self.download}."
        )


def complete_files(root: Path, names: Sequence[str]) -> list[Path] | None:
    """The files of these names in a folder, or None without any of them."""
    have = [name for name in names if (root / name).is_file()]
    if have and len(have) < len(names):
        lacking = [name for name in names if name not in have]
        raise MissingData(f"{root} has {', '.join(have)}, but not {', '.join(lacking)}.")
    return [root / name for name in have] or None


def open_classes(
    root: Path, wanted: Sequence[str], stack: ExitStack
) -> dict[str, ClassImages] | None:
    """The images of every wanted class, or None without any of them.

    ``wanted`` are WordNet ids; ``stack`` keeps archives open.
    """
    if root.is_dir():
        found = _in_folders(root, wanted, stack)
    else:
        found = _grouped(stack.enter_context(open_tree(root)), wanted)
    if not found:
        return None
    missing = [name for name in wanted if name not in found]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise MissingData(
            f"{root} has images of {len(found)} of {len(wanted)} classes; missing are "
            f"{', '.join(missing[:_SHOWN])}{more}."
        )
    for name, images in found.items():
        if not images.members:
            raise BadData(f"Class folder {images.tree.where} ({name}) holds no images.")
    return {name: found[name] for name in wanted}


def _in_folders(root: Path, wanted: Sequence[str], stack: ExitStack) -> dict[str, ClassImages]:
    found: dict[str, ClassImages] = {}
    for place in (root / inside for inside in _INSIDE):
        # ImageNet has every class in train and in val: the first place counts.
        for name in wanted:
            if name not in found and (place / name).is_dir():
                tree = stack.enter_context(open_tree(place / name))
                found[name] = ClassImages(tree, tree.members)
        if not found and place.is_dir() and _is_flat(place):
            tree = stack.enter_context(open_tree(place))
            return _grouped(tree, wanted)
    return found


def _is_flat(place: Path) -> bool:
    with os.scandir(place) as entries:
        return any(_FLAT.fullmatch(entry.name) for entry in entries)


def _grouped(tree: FileTree, wanted: Sequence[str]) -> dict[str, ClassImages]:
    known = frozenset(wanted)
    groups: dict[str, dict[str, list[Member]]] = {}
    for member in tree.members:
        name, folder = _class_of(member.path)
        if name in known:
            groups.setdefault(name, {}).setdefault(folder, []).append(member)
    return {
        name: ClassImages(tree, tuple(_one_place(tree, name, places)))
        for name, places in groups.items()
    }


def _class_of(path: str) -> tuple[str, str]:
    """A file's class by its folder or its own name, and the folder."""
    folder, _, file = path.rpartition("/")
    parent = folder.rpartition("/")[2]
    if _CLASS.fullmatch(parent):
        return parent, folder
    flat = _FLAT.fullmatch(file)
    return (flat[1], folder) if flat else ("", folder)


def _one_place(tree: FileTree, name: str, places: Mapping[str, list[Member]]) -> list[Member]:
    if len(places) > 1:
        training = {f: m for f, m in places.items() if "train" in f.split("/")}
        places = training or places
    if len(places) > 1:
        raise BadData(f"{tree.where} has class {name} in {' and in '.join(sorted(places))}.")
    return next(iter(places.values()))
