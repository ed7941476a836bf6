"""The benchmarks made of CIFAR-100's images: CIFAR-FS, FC100 and MetaDL's feedback split."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from operator import call
from pathlib import Path
from typing import Any, final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.benchmarks.cifar.files import (
    ARCHIVE,
    CHECKSUMS,
    DOWNLOAD,
    SUPERCLASS_OF,
    find_source,
    open_images,
)
from fsl_sweep.datasets.files.download import RemoteFile
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress, append_images
from fsl_sweep.datasets.splits.drawn import class_benchmark, read_facts
from fsl_sweep.datasets.store.writing import StoreWriter


class Cifar100Options(Options):
    """Options of every benchmark made of CIFAR-100."""

    image_size: int = Field(32, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the held-out examples")


class AbstractCifar100(AbstractBenchmark[Any]):
    """All images of all 100 classes, training and test images together, with superclasses.

    Krizhevsky, "Learning Multiple Layers of Features from Tiny Images" (2009): 600 images of 32 x
    32 pixels a class. A source of class folders may have fewer.
    """

    version = 1
    official_images = 60_000
    download = DOWNLOAD
    files = (
        RemoteFile(f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}", f"md5:{CHECKSUMS[ARCHIVE]}"),
    )
    pooled = frozenset({"image_size"})

    @abstractmethod
    def classes(self, options: Any) -> Mapping[str, Sequence[str]]:
        """The names of the base, val and novel classes."""

    def given(self, root: Path | None) -> Path:
        """The archive or folder that is found under ``root``."""
        return find_source(super().given(root))

    def prepare(
        self, options: Any, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Class by class, and within a class by file name, so that every form gives one pool."""
        with open_images(self.given(root)) as classes:
            pool = writer.pool((3, options.image_size, options.image_size))
            parts = [(label, loads, call) for label, loads in enumerate(classes.values())]
            append_images(pool, parts, options.image_size, progress)
            pool.describe(list(SUPERCLASS_OF), list(SUPERCLASS_OF.values()))

    def assemble(self, options: Any, pools: Mapping[str, ImagePool]) -> Benchmark:
        """The classes of each split; base examples by the held-out share."""
        pool = pools["main"]
        split = {
            name: np.flatnonzero(np.isin(pool.class_names, classes))
            for name, classes in self.classes(options).items()
        }
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: Any) -> Mapping[str, int]:
        """The published counts."""
        return {split: len(names) for split, names in self.classes(options).items()}


@final
class CifarFs(AbstractCifar100):
    """100 classes drawn into 64, 16 and 20, whatever their superclass: the published lists.

    Bertinetto et al., "Meta-learning with differentiable closed-form solvers" (arXiv 1805.08136).
    With held-out examples of the base classes it is cifar-M of "Two Sides of Meta-Learning
    Evaluation".
    """

    name = "cifar-fs"
    Options = Cifar100Options

    def classes(self, options: Cifar100Options) -> Mapping[str, Sequence[str]]:
        """The published lists."""
        return read_facts("cifar_fs.json")["classes"]


@final
class Fc100(AbstractCifar100):
    """20 superclasses drawn into 12, 4 and 4: novel classes are far from base classes.

    Oreshkin, Rodriguez, Lacoste, "TADAM: Task dependent adaptive metric for improved few-shot
    learning" (arXiv 1805.10123), section 4.1. With held-out examples of the base classes it is
    FC-M of "Two Sides of Meta-Learning Evaluation".
    """

    name = "fc100"
    Options = Cifar100Options

    def classes(self, options: Cifar100Options) -> Mapping[str, Sequence[str]]:
        """The classes of the published superclasses."""
        lists = read_facts("fc100.json")["superclasses"]
        return {split: _within(groups) for split, groups in lists.items()}


class Cifar100MetadlOptions(Cifar100Options):
    """Options of ``cifar100-metadl``."""

    seed: int = Field(0, ge=0, description="of the validation classes and the held-out examples")
    val_superclasses: int = Field(
        3, ge=1, le=15, description="superclasses, of the 16 to train on, that are for validation"
    )


@final
class Cifar100Metadl(AbstractCifar100):
    """80 classes for base and val together, 20 novel ones of other superclasses.

    "Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2.3 and the table of its
    meta-datasets: 80 classes to train on and 20 to test on, split "similar to" FC100, so that no
    superclass is on both sides. The lists were not published. Here the 20 are FC100's novel
    classes. The challenge left validation classes to its participants; here they are whole
    superclasses among the 80, drawn by the seed.
    """

    name = "cifar100-metadl"
    Options = Cifar100MetadlOptions

    def classes(self, options: Cifar100MetadlOptions) -> Mapping[str, Sequence[str]]:
        """Novel classes are fixed; val is drawn, whole superclasses at a time."""
        novel = read_facts("fc100.json")["superclasses"]["novel"]
        others = sorted(set(SUPERCLASS_OF.values()) - set(novel))
        named_generator(options.seed, "metadl").shuffle(others)
        val, base = others[: options.val_superclasses], others[options.val_superclasses :]
        return {"base": _within(base), "val": _within(val), "novel": _within(novel)}


def _within(superclasses: Sequence[str]) -> list[str]:
    """The classes of some superclasses, alphabetically."""
    return [name for name, group in SUPERCLASS_OF.items() if group in superclasses]
