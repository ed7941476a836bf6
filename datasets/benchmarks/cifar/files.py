"""CIFAR-100 in the forms in which people have it.

The official python archive (``cifar-100-python.tar.gz``), the folder that it extracts to, or images
in a folder for each class, or a zip or tar of these folders. Forms of the same images give the same
order: by class, and within a class by file name.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.file_tree import Bounds, FileTree, Member
from fsl_sweep.datasets.files.pickles import as_text, load_dict
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean


def _superclasses() -> dict[str, str]:
    table = read_facts("cifar100_classes.json")["superclasses"]
    return dict(sorted((name, group) for group, names in table.items() for name in names))


def _spelling(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


SUPERCLASS_OF: Mapping[str, str] = _superclasses()
"""The superclass of each class; in the alphabetical order of the classes, which is the official
order of their labels."""

_CLASSES = {_spelling(name): name for name in SUPERCLASS_OF}


def class_called(name: str) -> str | None:
    """The class that a folder's name means, or None.

    Case does not matter, and spaces and hyphens count as underscores: ``Sweet pepper`` is
    ``sweet_pepper``. A plural or another word is another name.
    """
    return _CLASSES.get(_spelling(name))


ImagesByClass = Mapping[str, list[Callable[[], Image.Image]]]
"""Calls that give each image of each class, in order; nothing is decoded before the call."""

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
_ARCHIVE_NAME = re.compile(r"cifar.*100.*\.(zip|tar|tar\.gz|tgz)", re.IGNORECASE)
_FOLDERS = {*_CLASSES, *map(_spelling, SUPERCLASS_OF.values()), *_PARTS}
_SIDE = 32
_BOUNDS = Bounds(members=1_000_000, member_bytes=256 * 2**20, total_bytes=4 * 2**30)


def find_source(root: Path) -> Path:
    """The archive or folder under ``root`` that holds the images. Raises MissingData, BadData."""
    if root.is_file():
        return root
    places = [root, root / "cifar100", root / "cifar-100", root / "CIFAR100"]
    for place in places:
        if found := _in_place(place):
            return found
    raise MissingData(
        f"CIFAR-100 is in none of {', '.join(map(str, places))}: neither {ARCHIVE}, nor a folder "
        f"{FOLDER}, nor one archive whose name begins with cifar, nor class folders. "
        f"Get {DOWNLOAD}."
    )


@contextmanager
def open_images(source: Path) -> Iterator[ImagesByClass]:
    """The images of all 100 classes, in alphabetical order."""
    with open_tree(source, _BOUNDS) as tree:
        files = {
            path: m for m in tree.members if (path := m.path.removeprefix(f"{FOLDER}/")) in _PARTS
        }
        images = _python_files(tree, files) if files else _class_folders(tree)
        lacking = [name for name, loads in images.items() if not loads]
        if lacking:
            shown = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
            raise BadData(
                f"{tree.where} has no images of {len(lacking)} of CIFAR-100's 100 classes "
                f"({shown}). Get {DOWNLOAD}."
            )
        yield images


def _in_place(place: Path) -> Path | None:
    if (place / FOLDER).is_dir():
        return place / FOLDER
    if (place / ARCHIVE).is_file():
        return place / ARCHIVE
    entries = sorted(place.iterdir()) if place.is_dir() else []
    archives = [e for e in entries if e.is_file() and _ARCHIVE_NAME.fullmatch(e.name)]
    if len(archives) > 1:
        raise BadData(
            f"{place} holds several archives that may be CIFAR-100 "
            f"({', '.join(archive.name for archive in archives)}); set benchmark.root to one."
        )
    if archives:
        return archives[0]
    return place if any(_spelling(entry.name) in _FOLDERS for entry in entries) else None


def _python_files(tree: FileTree, files: Mapping[str, Member]) -> ImagesByClass:
    """From the official files, which are read only if their checksums are right."""
    rows, pixels = [], []
    for part, name in enumerate(_PARTS):
        if name not in files:
            raise MissingData(f"{tree.where} has no file {name}. Get {DOWNLOAD}.")
        where, content = tree.where / files[name].path, tree.read(files[name])
        found, official = hashlib.md5(content, usedforsecurity=False).hexdigest(), CHECKSUMS[name]
        if found != official:
            raise BadData(
                f"{where} is not the official file: its MD5 is {found} instead of {official}. "
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
    found: dict[str, list[Member]] = {name: [] for name in SUPERCLASS_OF}
    for member in tree.members:
        path = tree.where / member.path
        folder = path.parent.name
        name = class_called(folder)
        if name is None:
            raise BadData(
                f"{path} is not in a folder of a CIFAR-100 class; "
                f"{did_you_mean(_spelling(folder), _CLASSES)}. "
                "Give a folder or archive that holds only class folders, perhaps within train/ and "
                "test/ or within folders of the superclasses."
            )
        found[name].append(member)
    return {
        name: [partial(read_image, tree, m, "rgb") for m in sorted(members, key=_file_name)]
        for name, members in found.items()
    }


def _file_name(member: Member) -> tuple[str, str]:
    return member.path.rpartition("/")[2], member.path
