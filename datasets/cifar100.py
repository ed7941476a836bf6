"""What the benchmarks made of CIFAR-100 share: its files, its pool and its options."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

from fsl_sweep.datasets.archives import tree_signature
from fsl_sweep.datasets.cifar100_classes import SUPERCLASS_OF
from fsl_sweep.datasets.cifar100_files import (
    ARCHIVE,
    CHECKSUMS,
    DOWNLOAD,
    find_source,
    open_images,
)
from fsl_sweep.datasets.decoding import squared
from fsl_sweep.datasets.download import RemoteFile
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress
from fsl_sweep.datasets.store_writer import StoreWriter

_BATCH = 200


class Cifar100Options(BaseModel):
    """Options of every benchmark made of CIFAR-100."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_size: int = Field(32, ge=8, le=224, description="side of the images in pixels")
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the held-out examples")


Cifar100OptionsT = TypeVar("Cifar100OptionsT", bound=Cifar100Options)


class AbstractCifar100(AbstractBenchmark[Cifar100OptionsT]):
    """All images of all 100 classes, training and test images together, with superclasses.

    Krizhevsky, "Learning Multiple Layers of Features from Tiny Images" (2009): 600 images of 32 x
    32 pixels a class. A source of class folders may have fewer.
    """

    version: ClassVar[int] = 1
    official_images: ClassVar[int | None] = 60_000
    download: ClassVar[str | None] = DOWNLOAD
    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile(f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}", f"md5:{CHECKSUMS[ARCHIVE]}"),
    )

    def pool_options(self, options: Cifar100OptionsT) -> dict[str, Any]:
        """The images' size."""
        return {"image_size": options.image_size}

    def signature(self, options: Cifar100OptionsT, root: Path | None) -> str:  # noqa: ARG002 (an interface)
        """Of the archive or folder that is found under ``root``."""
        return tree_signature(find_source(root))

    def prepare(
        self,
        options: Cifar100OptionsT,
        root: Path | None,
        writer: StoreWriter,
        progress: Progress,
    ) -> None:
        """Class by class, and within a class by file name, so that every form gives one pool."""
        with open_images(find_source(root)) as classes:
            pool = writer.pool((3, options.image_size, options.image_size))
            total, done = sum(map(len, classes.values())), 0
            for label, loads in enumerate(classes.values()):
                for start in range(0, len(loads), _BATCH):
                    batch = loads[start : start + _BATCH]
                    pool.append(_pixels(batch, options), label)
                    done += len(batch)
                    progress(done, total)
            pool.describe(list(SUPERCLASS_OF), list(SUPERCLASS_OF.values()))


def labels_of(pool: ImagePool, names: Mapping[str, Sequence[str]]) -> dict[str, np.ndarray]:
    """Class labels of each split, int64, sorted, of its classes' names."""
    label = {name: number for number, name in enumerate(pool.class_names)}
    return {
        split: np.array(sorted(label[name] for name in listed), dtype=np.int64)
        for split, listed in names.items()
    }


def classes_within(superclasses: Sequence[str]) -> list[str]:
    """The classes of some superclasses, alphabetically."""
    return [name for name, group in SUPERCLASS_OF.items() if group in superclasses]


def _pixels(loads: Sequence[Callable[[], Image.Image]], options: Cifar100Options) -> np.ndarray:
    return np.stack([squared(load(), options.image_size) for load in loads])
