"""Which files of a tree are images of which class."""

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.orchestrator.errors import BadData

_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm"}
)


@dataclass(frozen=True)
class ClassEntry:
    """A class of a tree: its folder's name, its superclass's where there is one, its images."""

    name: str
    superclass: str | None
    members: tuple[Member, ...]


def read_class_tree(tree: FileTree) -> list[ClassEntry]:
    """The classes of a tree ``[SUPERCLASS/]CLASS/image``, sorted by superclass and name.

    A folder around everything, as many zips have, is ignored.

    Raises:
        BadData: files that are not images, images at different depths, a class without images,
            two classes of one name, or no classes at all; the message names them.
    """
    _check_images(tree)
    outer = _outer_folders(tree)
    examples = {member.path.count("/") - outer: member.path for member in tree.members}
    if len(examples) != 1 or not examples.keys() <= {1, 2}:
        raise BadData(
            f"{tree.where} must have images in CLASS/ folders, or all in SUPERCLASS/CLASS/ "
            f"folders, but it has {' and '.join(examples.values())}."
        )
    (depth,) = examples
    members: dict[str, list[Member]] = {}
    for member in tree.members:
        members.setdefault(member.path.rpartition("/")[0], []).append(member)
    _check_folders(tree, members)
    entries = [
        ClassEntry(
            folder.split("/")[-1], folder.split("/")[-2] if depth == 2 else None, tuple(images)
        )
        for folder, images in members.items()
    ]
    _check_names(tree, members)
    return sorted(entries, key=lambda entry: (entry.superclass or "", entry.name))


def _check_images(tree: FileTree) -> None:
    others = [m.path for m in tree.members if PurePosixPath(m.path).suffix.lower() not in _SUFFIXES]
    if others:
        more = f" (and {len(others) - 1} more files)" if len(others) > 1 else ""
        raise BadData(
            f"{tree.where / others[0]}{more} is not an image; remove it, or give the folder that "
            "holds only class folders."
        )
    if not tree.members:
        raise BadData(f"{tree.where} holds no images.")


def _outer_folders(tree: FileTree) -> int:
    """How many folders lie around everything, and so separate no classes."""
    folders = [member.path.split("/")[:-1] for member in tree.members]
    most = min(map(len, folders)) - 1  # the innermost folder is the class
    outer = 0
    while outer < most and len({parts[outer] for parts in folders}) == 1:
        outer += 1
    return outer


def _check_folders(tree: FileTree, members: Collection[str]) -> None:
    filled = set(members)
    for folder in members:
        while folder := folder.rpartition("/")[0]:
            filled.add(folder)
    for folder in tree.folders:
        if folder not in filled:
            raise BadData(f"Class folder {tree.where / folder} holds no images.")


def _check_names(tree: FileTree, folders: Collection[str]) -> None:
    seen: dict[str, str] = {}
    for folder in folders:
        # Two spellings of one accented name look the same to a reader.
        name = unicodedata.normalize("NFC", folder.rpartition("/")[2])
        if name in seen:
            raise BadData(
                f"Two classes of {tree.where} are called '{name}': {seen[name]} and {folder}. "
                "Rename one of them; class names must be unique across superclasses."
            )
        seen[name] = folder
