"""CIFAR-100 in the forms in which people have it.

The official python archive (``cifar-100-python.tar.gz``), the folder that it extracts to, or images
in a folder for each class, or a zip or tar of these folders. Forms of the same images give the same
order: by class, and within a class by file name.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fsl_sweep.datasets.benchmarks.cifar.classes import (
    SUPERCLASS_OF,
    class_called,
    nearest_class,
    superclass_called,
)
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.file_tree import Bounds, FileTree, Member
from fsl_sweep.datasets.files.pickles import as_text, load_dict
from fsl_sweep.orchestrator.errors import BadData, MissingData

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
    "meta": "7973b15100ade9c7d40fb424638fde48",
}
"""MD5 of the official archive, which its page states, and of the files in it."""

_PARTS = ("train", "test")
_TEXTS = ("filenames", "fine_label_names")
_SIDE = 32
_BOUNDS = Bounds(members=1_000_000, member_bytes=256 * 2**20, total_bytes=4 * 2**30)


def find_source(root: Path | None) -> Path:
    """The archive or folder under ``root`` that holds the images.

    Raises:
        MissingData: there is none; says where it was expected.
        BadData: there are several archives to choose among.
    """
    if root is None:
        raise MissingData("CIFAR-100 is prepared from its files: set benchmark.root.")
    root = root.expanduser()
    if root.is_file():
        return root
    places = [root, root / "cifar100", root / "cifar-100", root / "CIFAR100"]
    for place in places:
        found = _in_place(place)
        if found is not None:
            return found
    raise MissingData(
        f"CIFAR-100 is in none of {', '.join(map(str, places))}: neither {ARCHIVE}, nor a folder "
        f"{FOLDER}, nor one archive whose name begins with cifar, nor class folders. "
        f"Get {DOWNLOAD}."
    )


@contextmanager
def open_images(source: Path) -> Iterator[ImagesByClass]:
    """The images of all 100 classes, in alphabetical order.

    Raises:
        MissingData: a file of the official archive is not there.
        BadData: a checksum is wrong, the source is damaged or hostile, or a class is missing; the
            message names the file.
    """
    if source.name == ARCHIVE and source.is_file():
        with source.open("rb") as file:
            digest = hashlib.file_digest(file, partial(hashlib.md5, usedforsecurity=False))
        _check_sum(source, ARCHIVE, digest.hexdigest())
    with open_tree(source, _BOUNDS) as tree:
        prefix = _python_prefix(tree)
        yield _class_folders(tree) if prefix is None else _python_files(tree, prefix)


def _in_place(place: Path) -> Path | None:
    if (place / FOLDER).is_dir():
        return place / FOLDER
    if (place / ARCHIVE).is_file():
        return place / ARCHIVE
    if not place.is_dir():
        return None
    entries = sorted(place.iterdir())
    archives = [e for e in entries if e.is_file() and _is_archive(e.name.lower())]
    if len(archives) > 1:
        raise BadData(
            f"{place} holds several archives that may be CIFAR-100 "
            f"({', '.join(archive.name for archive in archives)}); set benchmark.root to one."
        )
    if archives:
        return archives[0]
    return place if any(_belongs(entry) for entry in entries) else None


def _is_archive(name: str) -> bool:
    suffixes = (".zip", ".tar", ".tar.gz", ".tgz")
    return name.startswith("cifar") and "100" in name and name.endswith(suffixes)


def _belongs(entry: Path) -> bool:
    name = entry.name
    if entry.is_file():
        return name in CHECKSUMS
    return name in _PARTS or bool(class_called(name) or superclass_called(name))


def _python_prefix(tree: FileTree) -> str | None:
    """The folder of the official files, with a slash; None where there are class folders."""
    paths = {member.path for member in tree.members}
    for prefix in ("", f"{FOLDER}/"):
        lacking = [name for name in (*_PARTS, "meta") if f"{prefix}{name}" not in paths]
        if not lacking:
            return prefix
        if len(lacking) < 3:
            raise MissingData(
                f"{tree.where} has no {prefix}{lacking[0]}, though it has other files of the "
                f"official archive. Extract it again, or get {DOWNLOAD}."
            )
    return None


def _python_files(tree: FileTree, prefix: str) -> ImagesByClass:
    parts = [_part(tree, f"{prefix}{name}") for name in _PARTS]
    names = list(SUPERCLASS_OF)
    if _loaded(tree, f"{prefix}meta").get("fine_label_names") != names:
        raise BadData(f"{tree.where}/{prefix}meta does not name the 100 classes of CIFAR-100.")
    rows = sorted(
        (label, file, part, row)
        for part, (_, labels, files) in enumerate(parts)
        for row, (label, file) in enumerate(zip(labels, files, strict=True))
    )
    images: dict[str, list[Callable[[], Image.Image]]] = {name: [] for name in SUPERCLASS_OF}
    for label, _, part, row in rows:
        images[names[label]].append(partial(_pixels, parts[part][0], row))
    return _complete(tree, images)


def _part(tree: FileTree, path: str) -> tuple[np.ndarray, list[int], list[str]]:
    """Pixels ``[N, 3, 32, 32]``, labels and file names of the training or test images."""
    content = _loaded(tree, path)
    data = content.get("data")
    labels, names = content.get("fine_labels"), content.get("filenames")
    if (
        not isinstance(data, np.ndarray)
        or not isinstance(labels, list)
        or not isinstance(names, list)
        or (data.dtype, data.shape) != (np.uint8, (len(labels), 3 * _SIDE**2))
        or len(names) != len(labels)
        or not all(type(label) is int and 0 <= label < len(SUPERCLASS_OF) for label in labels)
    ):
        raise BadData(f"{tree.where}/{path} does not hold images as CIFAR-100's archive does.")
    return data.reshape(-1, 3, _SIDE, _SIDE), labels, names


def _loaded(tree: FileTree, path: str) -> dict[str, Any]:
    """A file of the official archive, read only if it is the official one."""
    where = tree.where / path
    member = next(member for member in tree.members if member.path == path)
    content = tree.read(member)
    name = path.rpartition("/")[2]
    _check_sum(where, name, hashlib.md5(content, usedforsecurity=False).hexdigest())
    return {
        key: list(map(as_text, value)) if key in _TEXTS and isinstance(value, list) else value
        for key, value in load_dict(content, str(where)).items()
    }


def _check_sum(where: Path, name: str, found: str) -> None:
    if found != CHECKSUMS[name]:
        raise BadData(
            f"{where} is not the official file: its MD5 is {found} instead of {CHECKSUMS[name]}. "
            "Download it again. Images that were changed on purpose go into class folders."
        )


def _pixels(images: np.ndarray, row: int) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(images[row].transpose(1, 2, 0)))


def _class_folders(tree: FileTree) -> ImagesByClass:
    found: dict[str, list[Member]] = {name: [] for name in SUPERCLASS_OF}
    spelled: dict[str, str] = {}
    for member in tree.members:
        folder, name = _class_of(tree, member)
        if spelled.setdefault(name, folder) != folder:
            raise BadData(
                f"{tree.where} has the class '{name}' in folders called '{spelled[name]}' and "
                f"'{folder}'; put its images into folders of one name."
            )
        found[name].append(member)
    return _complete(
        tree,
        {
            name: [partial(read_image, tree, m, "rgb") for m in sorted(members, key=_file_name)]
            for name, members in found.items()
        },
    )


def _class_of(tree: FileTree, member: Member) -> tuple[str, str]:
    """The innermost folder and its class; a superclass folder around it must be the right one."""
    *around, folder = [tree.where.name, *member.path.split("/")[:-1]]
    name = class_called(folder) if around else None
    if name is None:
        raise BadData(
            f"{tree.where / member.path} is not in a folder of a CIFAR-100 class; "
            f"{nearest_class(folder)}. Give a folder or archive that holds only class "
            "folders, perhaps within train/ and test/ or within folders of the superclasses."
        )
    for other in around[1:]:
        group = superclass_called(other)
        if group is not None and group != SUPERCLASS_OF[name]:
            raise BadData(
                f"{tree.where / member.path} puts the class '{name}' under '{group}'; "
                f"in CIFAR-100 it is of '{SUPERCLASS_OF[name]}'."
            )
    return folder, name


def _file_name(member: Member) -> tuple[str, str]:
    return member.path.rpartition("/")[2], member.path


def _complete(tree: FileTree, images: dict[str, list[Callable[[], Image.Image]]]) -> ImagesByClass:
    lacking = [name for name, loads in images.items() if not loads]
    if lacking:
        shown = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        raise BadData(
            f"{tree.where} has no images of {len(lacking)} of CIFAR-100's 100 classes ({shown}). "
            f"Get {DOWNLOAD}."
        )
    return images
