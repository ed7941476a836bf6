"""ImageNet's images by class, however people keep them.

Class folders are named by WordNet id (``n01532829/``), at the top, under ``train``, ``val`` and
``test`` or deep in ImageNet's own tree, in a folder or an archive. Or files whose names begin with
the id (``n0153282900000005.jpg``) are all in one folder. Only the wanted classes are read: ImageNet
has more than a million files.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.source import read_squares
from fsl_sweep.orchestrator.errors import BadData, MissingData

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
        """Hex digest of the files' names and sizes, not of their folders."""
        rows = [[m.path.rpartition("/")[2], m.size, m.crc] for m in self.members]
        return canonical_digest(rows)

    def pixels(self, members: Sequence[Member], side: int) -> np.ndarray:
        """As `read_squares`, of some of its files, in colour."""
        return read_squares(self.tree, "rgb", side, members)


Source = list[Path] | dict[str, ClassImages]
"""Pickled files, or the images of every class."""


def open_source(
    start: Path,
    names: Sequence[str],
    files_in: Callable[[Path], list[Path] | None],
    wanted: Sequence[str],
    stack: ExitStack,
) -> Source | None:
    """Pickled files, or else the images of all wanted classes; None without any of them.

    Both are searched in ``start`` and in folders of the given names in it.
    """
    places = [start, *(start / name for name in names)]
    for place in places:
        if files := files_in(place):
            return files
    for place in places:
        if place.exists() and (classes := open_classes(place, wanted, stack)):
            return classes
    return None


def source_signature(source: Source) -> list[Any] | dict[str, str]:
    """Names and sizes of the files, for a digest."""
    if isinstance(source, list):
        return [[path.name, path.stat().st_size] for path in source]
    return {name: images.signature() for name, images in source.items()}


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
