"""The benchmarks made of CIFAR-100's images: CIFAR-FS, FC100 and MetaDL's feedback split.

People have CIFAR-100 as the official python archive (``cifar-100-python.tar.gz``), the folder that
it extracts to, or images in a folder for each class, or a zip or tar of these folders. Forms of the
same images give the same order: by class, and within a class by file name.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import call
from pathlib import Path
from typing import Any, final

import numpy as np
from PIL import Image
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.download import RemoteFile
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.files.pickles import as_text, load_dict
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress, append_images
from fsl_sweep.datasets.splits.drawn import class_benchmark, read_facts
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean

SUPERCLASS_OF: Mapping[str, str] = dict(
    sorted(
        (name, group)
        for group, names in read_facts("cifar100_classes.json")["superclasses"].items()
        for name in names
    )
)
"""The superclass of each class; in the alphabetical order of the classes, which is the official
order of their labels."""

ARCHIVE = "cifar-100-python.tar.gz"
FOLDER = "cifar-100-python"
DOWNLOAD = (
    f"{ARCHIVE} from https://www.cs.toronto.edu/~kriz/cifar.html, or the images of all 100 "
    "classes in a folder for each class, or a zip or tar of these folders"
)

CHECKSUMS = {
    ARCHIVE: "eb9058c3a382ffc7106e4002c42a8d85",
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
}
"""Of the official archive, which its page states, and of the files in it that have images."""

_PARTS = ("train", "test")
_SIDE = 32

ImagesByClass = Mapping[str, list[Callable[[], Image.Image]]]
"""Calls that give each image of each class, in order; nothing is decoded before the call."""


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

    Options = Cifar100Options
    version = 1
    official_images = 60_000
    download = DOWNLOAD
    files = (
        RemoteFile(f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}", f"md5:{CHECKSUMS[ARCHIVE]}"),
    )
    pooled = frozenset({"image_size"})

    @abstractmethod
    def classes(self, options: Any) -> Mapping[str, Sequence[str]]:
        """Return the names of the base, val and novel classes."""

    def source_path(self, root: Path | None) -> Path:
        """Return the official folder or archive in ``root``, else ``root`` itself."""
        path = super().source_path(root)
        return next((p for p in (path / FOLDER, path / ARCHIVE) if p.exists()), path)

    def prepare(
        self, options: Any, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write class by class, and within a class by file name: every form gives one pool."""
        with open_tree(self.source_path(root)) as tree:
            classes = _images_by_class(tree)
            pool = writer.pool((3, options.image_size, options.image_size))
            parts = [(label, loads, call) for label, loads in enumerate(classes.values())]
            append_images(pool, parts, options.image_size, progress)
            pool.describe(list(SUPERCLASS_OF), list(SUPERCLASS_OF.values()))

    def assemble(self, options: Any, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes by the published lists, base examples by the held-out share."""
        pool = pools["main"]
        split = {
            name: np.flatnonzero(np.isin(pool.class_names, classes))
            for name, classes in self.classes(options).items()
        }
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: Any) -> Mapping[str, int]:
        """Return the published counts."""
        return {split: len(names) for split, names in self.classes(options).items()}


@final
class CifarFs(AbstractCifar100):
    """100 classes drawn into 64, 16 and 20, whatever their superclass: the published lists.

    Bertinetto et al., "Meta-learning with differentiable closed-form solvers" (arXiv 1805.08136).
    With held-out examples of the base classes it is cifar-M of "Two Sides of Meta-Learning
    Evaluation".
    """

    name = "cifar-fs"

    def classes(self, options: Cifar100Options) -> Mapping[str, Sequence[str]]:
        """Return the published lists."""
        return read_facts("cifar_fs.json")["classes"]


@final
class Fc100(AbstractCifar100):
    """20 superclasses drawn into 12, 4 and 4: novel classes are far from base classes.

    Oreshkin, Rodriguez, Lacoste, "TADAM: Task dependent adaptive metric for improved few-shot
    learning" (arXiv 1805.10123), section 4.1. With held-out examples of the base classes it is
    FC-M of "Two Sides of Meta-Learning Evaluation".
    """

    name = "fc100"

    def classes(self, options: Cifar100Options) -> Mapping[str, Sequence[str]]:
        """Return the classes of the published superclasses."""
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
        """Draw val, whole superclasses at a time; novel classes are fixed."""
        novel = read_facts("fc100.json")["superclasses"]["novel"]
        others = sorted(set(SUPERCLASS_OF.values()) - set(novel))
        named_generator(options.seed, "metadl").shuffle(others)
        val, base = others[: options.val_superclasses], others[options.val_superclasses :]
        return {"base": _within(base), "val": _within(val), "novel": _within(novel)}


def _within(superclasses: Sequence[str]) -> list[str]:
    """Return the classes of some superclasses, alphabetically."""
    return [name for name, group in SUPERCLASS_OF.items() if group in superclasses]


def _images_by_class(tree: FileTree) -> ImagesByClass:
    """Find the images of all 100 classes, in alphabetical order."""
    files = {path: m for m in tree.members if (path := m.path.removeprefix(f"{FOLDER}/")) in _PARTS}
    images = _python_files(tree, files) if files else _class_folders(tree)
    lacking = [name for name, loads in images.items() if not loads]
    if lacking:
        shown = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        raise BadData(
            f"{tree.where} has no images of {len(lacking)} of CIFAR-100's 100 classes "
            f"({shown}). Get {DOWNLOAD}."
        )
    return images


def _spelling(name: str) -> str:
    """Spell ``Sweet pepper`` as ``sweet_pepper``; a plural or another word is another name."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _python_files(tree: FileTree, files: Mapping[str, Member]) -> ImagesByClass:
    """Read the official files, if their checksums are right."""
    rows, pixels = [], []
    for part, name in enumerate(_PARTS):
        if name not in files:
            raise MissingData(f"{tree.where} has no file {name}. Get {DOWNLOAD}.")
        where, content = tree.where / files[name].path, tree.read(files[name])
        digest, official = hashlib.md5(content, usedforsecurity=False).hexdigest(), CHECKSUMS[name]
        if digest != official:
            raise BadData(
                f"{where} is not the official file: its MD5 is {digest} instead of {official}. "
                "Download it again. Images that were changed on purpose go into class folders."
            )
        loaded = load_dict(content, str(where))
        pixels.append(loaded["data"].reshape(-1, 3, _SIDE, _SIDE))
        names = map(as_text, loaded["filenames"])
        rows += [
            (*key, part, row)
            for row, key in enumerate(zip(loaded["fine_labels"], names, strict=True))
        ]
    images: dict[str, list[Callable[[], Image.Image]]] = {name: [] for name in SUPERCLASS_OF}
    classes = list(images.values())
    for label, _, part, row in sorted(rows):
        classes[label].append(partial(_pixels, pixels[part], row))
    return images


def _pixels(images: np.ndarray, row: int) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(images[row].transpose(1, 2, 0)))


def _class_folders(tree: FileTree) -> ImagesByClass:
    classes: dict[str, list[Member]] = {name: [] for name in SUPERCLASS_OF}
    for member in tree.members:
        path = tree.where / member.path
        name = _spelling(path.parent.name)
        if name not in classes:
            raise BadData(
                f"{path} is not in a folder of a CIFAR-100 class. Only class folders are read, "
                "or an archive of them as root, perhaps within train/ and test/ or within folders "
                "of the superclasses; "
                f"{did_you_mean(name, classes)}"
            )
        classes[name].append(member)
    return {
        name: [
            partial(read_image, tree, member, "rgb")
            for member in sorted(members, key=lambda m: (m.path.rpartition("/")[2], m.path))
        ]
        for name, members in classes.items()
    }
