"""What the benchmarks made of ImageNet have in common."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.benchmarks.imagenet.folders import (
    ListedClass,
    further_classes,
    open_classes,
)
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Part, Progress, append_images
from fsl_sweep.datasets.splits.drawn import class_benchmark, marked, marks
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData


class ImagenetOptions(Options):
    """Options of a benchmark made of ImageNet."""

    image_size: int = Field(84, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(
        0.2, gt=0, lt=1, description="share of base examples for BaseGen, if no others are at hand"
    )
    seed: int = Field(0, ge=0, description="of the held-out examples and of the base classes")
    # These came later: trials without them keep their ids, and prepared data their place.
    base_classes: int | None = Field(
        None,
        ge=2,
        exclude_if=lambda count: count is None,
        description="train on so many base classes, drawn by seed; the others are unused",
    )
    unused_classes: int = Field(
        0,
        ge=0,
        exclude_if=lambda count: count == 0,
        description="further classes of ImageNet's folders, in no split, for conclusion flips",
    )


Pickled = tuple[Sequence[ListedClass], Iterable[Part], int]
"""The classes and the images of pickled files, and how many images there are."""


class AbstractImagenet(AbstractBenchmark[Any]):
    """Images of the classes of a published list, in class folders or pickled.

    Attributes:
        listed: the classes.
        pickles: how pickled files are called; they go before class folders.
    """

    Options = ImagenetOptions
    version = 1
    pooled = frozenset({"image_size", "unused_classes"})
    listed: ClassVar[tuple[ListedClass, ...]]
    pickles: ClassVar[str]

    @abstractmethod
    def pickled(self, place: Path) -> list[Path] | None:
        """Find the pickled files in a folder; None without any."""

    @abstractmethod
    def unpickled(self, files: Sequence[Path]) -> Pickled:
        """Read the classes and images of pickled files."""

    def parts(self, source: Mapping[str, FileTree], root: Path) -> Iterable[Part]:
        """List the images of class folders: all, class by class."""
        trees = enumerate(source.values())
        return [(n, tree.members, partial(read_image, tree, colour="rgb")) for n, tree in trees]

    def signed(self, images: Mapping[str, str], root: Path) -> Any:
        """Return what the signature digests, from the signature of each class's images."""
        return images

    def signature(self, options: ImagenetOptions, root: Path | None) -> str:
        """Digest the pickled files, or the images of the classes that are read."""
        with ExitStack() as stack:
            source = self._opened(options, root, stack)
            if isinstance(source, list):
                return canonical_digest([[path.name, path.stat().st_size] for path in source])
            images = {name: _files_signature(tree) for name, tree in source.items()}
            return canonical_digest(self.signed(images, self.source_path(root)))

    def prepare(
        self, options: ImagenetOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write image by image as pickled files have them, or class by class."""
        with ExitStack() as stack:
            source = self._opened(options, root, stack)
            pool = writer.pool((3, options.image_size, options.image_size))
            classes, total = self.listed, None
            if isinstance(source, list):
                classes, parts, total = self.unpickled(source)
            else:
                further = [*source][len(classes) :]
                classes = (*classes, *(ListedClass(name, "unused") for name in further))
                parts = [*self.parts(source, self.source_path(root))]
            superclasses = [c.superclass or "" for c in classes]
            splits = marks([c.split for c in classes])
            above = superclasses if any(superclasses) else None
            pool.describe([c.name for c in classes], above, **splits)
            append_images(pool, parts, options.image_size, progress, total)

    def assemble(self, options: ImagenetOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes by the published lists, or by the files that they came in."""
        pool = pools["main"]
        split = self.partition(options, pool)
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def partition(self, options: ImagenetOptions, pool: ImagePool) -> dict[str, np.ndarray]:
        """Return the labels of base, val and novel. Raises BadData if base has too few."""
        split = marked(pool)
        if (count := options.base_classes) is not None:
            if count > len(split["base"]):
                raise BadData(f"{self.name} has {len(split['base'])} base classes, not {count}.")
            draws = named_generator(options.seed, "base classes")
            split["base"] = np.sort(draws.permutation(split["base"])[:count])
        return split

    def expected(self, options: ImagenetOptions) -> Mapping[str, int]:
        """Return the published counts, and the chosen one of base."""
        counts = {split: sum(c.split == split for c in self.listed) for split in MEASURED}
        return {**counts, "base": options.base_classes or counts["base"]}

    def _opened(
        self, options: ImagenetOptions, root: Path | None, stack: ExitStack
    ) -> list[Path] | dict[str, FileTree]:
        """Open pickled files, or the images of every class, which the stack keeps open.

        Unused classes come last.
        """
        place, wanted = self.source_path(root), [c.name for c in self.listed]
        if files := self.pickled(place):
            if options.unused_classes:
                raise MissingData(
                    f"{place} has {self.pickles}, which hold no unused classes. Give the class "
                    "folders of ImageNet, or leave unused_classes out."
                )
            return files
        if classes := open_classes(place, wanted, stack):
            if options.unused_classes:
                further = further_classes(place, wanted, options.unused_classes, stack)
                classes |= open_classes(place, further, stack) or {}
            return classes
        raise MissingData(
            f"{self.name} is not in {place}: neither {self.pickles} nor class folders such as "
            f"{wanted[0]} (directly, or under train, val and test). Get {self.download}."
        )


def _files_signature(tree: FileTree) -> str:
    """Digest the files' names, sizes and stamps, not their folders; hex."""
    return canonical_digest([[m.path.rpartition("/")[2], m.size, m.stamp] for m in tree.members])


def complete_files(root: Path, names: Sequence[str]) -> list[Path] | None:
    """Find the files of these names in a folder; None without any of them."""
    have = [name for name in names if (root / name).is_file()]
    if have and len(have) < len(names):
        lacking = [name for name in names if name not in have]
        raise MissingData(f"{root} has {', '.join(have)}, but not {', '.join(lacking)}.")
    return [root / name for name in have] or None
