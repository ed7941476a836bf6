"""The lists of ImageNet's classes, and its images by class, however people keep them.

Class folders are named by WordNet id (``n01532829/``), at the top, under ``train``, ``val`` and
``test`` or deep in ImageNet's own tree, in a folder or an archive. Or files whose names begin with
the id (``n0153282900000005.jpg``) are all in one folder. Only the wanted classes are read: ImageNet
has more than a million files.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.orchestrator.errors import BadData, MissingData


@dataclass(frozen=True)
class ListedClass:
    """A class of a published list: its WordNet id, or what the data call it."""

    name: str
    split: str
    superclass: str | None = None


def mini_classes() -> tuple[ListedClass, ...]:
    """List miniImageNet's 64, 16 and 20 classes (Ravi and Larochelle, 2017), sorted by name."""
    lists = read_facts("mini_imagenet_classes.json")["classes"]
    return _sorted(ListedClass(name, split) for split in MEASURED for name in lists[split])


def tiered_classes() -> tuple[ListedClass, ...]:
    """List tieredImageNet's 351, 97 and 160 classes (Ren et al., 2018), sorted by name."""
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


def further_classes(
    root: Path, listed: Sequence[str], count: int, stack: ExitStack
) -> Sequence[str]:
    """Draw ``count`` classes that are there but not listed, the same ones for every user.

    Raises:
        MissingData: there are fewer.
    """
    if root.is_dir():
        places = [root / inside for inside in _INSIDE if (root / inside).is_dir()]
        present = {_class_of(f"{name}/{name}")[0] for place in places for name in os.listdir(place)}
    else:
        tree = stack.enter_context(open_tree(root))
        present = {_class_of(member.path)[0] for member in tree.members}
    others = sorted(present.difference(listed, [""]))
    if len(others) < count:
        raise MissingData(
            f"{root} has images of {len(others)} further classes; unused_classes is {count}. Ask "
            "for as many as there are, or give all of ImageNet."
        )
    return sorted(named_generator(0, "unused classes").permutation(others)[:count].tolist())


def open_classes(root: Path, wanted: Sequence[str], stack: ExitStack) -> dict[str, FileTree] | None:
    """Open a tree of the images of each wanted class; None without any of them.

    ``wanted`` are WordNet ids; ``stack`` keeps archives open.
    """
    if root.is_dir():
        classes = _in_folders(root, wanted, stack)
    else:
        classes = _grouped(stack.enter_context(open_tree(root)), wanted)
    if not classes:
        return None
    missing = [name for name in wanted if name not in classes]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise MissingData(
            f"{root} has images of {len(classes)} of {len(wanted)} classes; missing are "
            f"{', '.join(missing[:_SHOWN])}{more}."
        )
    for name, images in classes.items():
        if not images.members:
            raise BadData(f"Class folder {images.where} ({name}) holds no images.")
    return {name: classes[name] for name in wanted}


def _in_folders(root: Path, wanted: Sequence[str], stack: ExitStack) -> dict[str, FileTree]:
    classes: dict[str, FileTree] = {}
    for place in (root / inside for inside in _INSIDE):
        # ImageNet has every class in train and in val: the first place counts.
        for name in wanted:
            if name not in classes and (place / name).is_dir():
                classes[name] = stack.enter_context(open_tree(place / name))
        if not classes and place.is_dir() and _is_flat(place):
            return _grouped(stack.enter_context(open_tree(place)), wanted)
    return classes


def _is_flat(place: Path) -> bool:
    with os.scandir(place) as entries:
        return any(_FLAT.fullmatch(entry.name) for entry in entries)


def _grouped(tree: FileTree, wanted: Sequence[str]) -> dict[str, FileTree]:
    known = frozenset(wanted)
    groups: dict[str, dict[str, list[Member]]] = {}
    for member in tree.members:
        name, folder = _class_of(member.path)
        if name in known:
            groups.setdefault(name, {}).setdefault(folder, []).append(member)
    return {
        name: replace(tree, members=_one_place(tree, name, places))
        for name, places in groups.items()
    }


def _class_of(path: str) -> tuple[str, str]:
    """Return a file's class, by its folder or its own name, and the folder."""
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
