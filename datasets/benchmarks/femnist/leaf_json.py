"""LEAF's JSON files of handwriting, read file by file.

"LEAF: A Benchmark for Federated Settings" (Caldas et al., arXiv 1812.01097). A file is ``{"users":
[...], "num_samples": [...], "user_data": {user: {"x": [[784 numbers], ...], "y": [...]}}}``: images
row by row with values from 0, ink, to 1, paper; labels 0-9 digits, 10-35 capitals and 36-61 small
letters. Reading a file takes about seven times its size in memory.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, final

import numpy as np

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.file_tree import Bounds, FileTree, Member
from fsl_sweep.orchestrator.errors import BadData, MissingData

SIDE = 28
LABELS = 62
_FILE_BYTES = 2**30
_PLACES = ("all_data", "data/all_data", "femnist/data/all_data")


@dataclass(frozen=True, eq=False)
class LeafUser:
    """What one person wrote.

    Attributes:
        name: LEAF's id of the person.
        images: uint8 ``[n, 1, 28, 28]``, paper 255.
        labels: int64 ``[n]`` in 0 .. 61.
    """

    name: str
    images: np.ndarray
    labels: np.ndarray


@final
class LeafFiles:
    """The files of one data set.

    Args:
        tree: where they lie.
        members: in the order in which they are read.
    """

    def __init__(self, tree: FileTree, members: tuple[Member, ...]) -> None:
        self.tree, self.members = tree, members

    def users(self) -> Iterator[LeafUser]:
        """Everybody in every file, in order; twice where train and test files share the person.

        Raises:
            BadData: a file is not what LEAF writes, names a person twice, or disagrees with itself;
                the message names file and person.
        """
        seen: dict[tuple[PurePosixPath, str], str] = {}
        for member in self.members:
            where = f"{self.tree.where}/{member.path}"
            if member.size > _FILE_BYTES:
                raise BadData(
                    f"{where} has {member.size} bytes, too many to read at once. Split it: LEAF "
                    "writes files of a hundred users."
                )
            for user in _users(self.tree.read(member), where):
                key = (PurePosixPath(member.path).parent, user.name)
                if key in seen:
                    raise BadData(f"{where} has user '{user.name}', as {seen[key]} has.")
                seen[key] = where
                yield user


@contextmanager
def open_leaf(root: Path) -> Iterator[LeafFiles]:
    """LEAF's ``all_data``, or its ``train`` and ``test``, under a folder or in an archive.

    Raises:
        MissingData: there are no such files; says what is expected.
        BadData: the archive is damaged or hostile.
    """
    with open_tree(_place(root), Bounds(member_bytes=_FILE_BYTES)) as tree:
        members = [member for member in tree.members if member.path.endswith(".json")]
        folders = {PurePosixPath(member.path).parent for member in members}
        whole = {folder for folder in folders if folder.name == "all_data"}
        halves = {folder for folder in folders if folder.name in ("train", "test")}
        chosen = whole or (halves if len(halves) == 2 else folders)
        if len(chosen) != (2 if chosen is halves else 1):
            found = f"JSON files in {', '.join(sorted(map(str, folders)))}" if folders else "none"
            raise MissingData(
                f"{tree.where} must have LEAF's JSON files: a folder all_data with all_data_0.json "
                f"and so on, or folders train and test; there are {found}."
            )
        taken = [m for m in members if PurePosixPath(m.path).parent in chosen]
        yield LeafFiles(tree, tuple(sorted(taken, key=_in_order)))


def _place(root: Path) -> Path:
    """The folder or archive to read: beside all_data LEAF leaves 800,000 image files."""
    if not root.is_dir():
        return root
    for place in _PLACES:
        if (root / place).is_dir():
            return root / place
    entries = sorted(root.iterdir())
    archives = [e for e in entries if e.name.endswith((".zip", ".tar", ".tar.gz", ".tgz"))]
    if len(archives) == 1 and not any(e.is_dir() or e.suffix == ".json" for e in entries):
        return archives[0]
    return root


def _in_order(member: Member) -> tuple[str, list[int], str]:
    """Sorts ``all_data_2.json`` before ``all_data_10.json``, and ``test`` before ``train``."""
    path = PurePosixPath(member.path)
    return str(path.parent), [int(number) for number in re.findall(r"\d+", path.name)], path.name


def _users(content: bytes, where: str) -> Iterator[LeafUser]:
    try:
        whole = json.loads(content, parse_constant=_not_a_number)
    except (ValueError, RecursionError) as failure:
        raise BadData(f"{where} is not JSON as LEAF writes it: {failure}.") from failure
    if not isinstance(whole, dict) or not isinstance(whole.get("user_data"), dict):
        raise BadData(f"{where} is not JSON as LEAF writes it: it has no object 'user_data'.")
    data: dict[str, Any] = whole["user_data"]
    users: Any = whole.get("users", ())
    named = isinstance(users, list) and all(isinstance(name, str) for name in users)
    if not named or sorted(users) != sorted(data):
        raise BadData(f"{where}: 'users' does not list the {len(data)} users of 'user_data'.")
    counts: dict[str, int] = {}
    for name in list(data):
        user = _user(name, data.pop(name), where)
        counts[name] = len(user.labels)
        yield user
    if whole.get("num_samples") != [counts[name] for name in users]:
        raise BadData(f"{where}: 'num_samples' does not count the images of each of 'users'.")


def _not_a_number(word: str) -> float:
    raise ValueError(f"{word} is not a pixel")


def _user(name: str, value: Any, where: str) -> LeafUser:
    whose = f"{where}: user '{name}'"
    x, y = (value.get(key) if isinstance(value, dict) else None for key in "xy")
    if not isinstance(x, list) or not isinstance(y, list) or len(x) != len(y):
        raise BadData(f"{whose} must have lists x and y, an image and a label for each drawing.")
    for label in y:
        if type(label) is not int or not 0 <= label < LABELS:
            raise BadData(f"{whose} has a label {label!r}, which is not an integer from 0 to 61.")
    for number, image in enumerate(x):
        if not isinstance(image, list) or len(image) != SIDE * SIDE:
            size = f"{len(image)} values" if isinstance(image, list) else "no list"
            raise BadData(f"{whose}, image {number}, must have {SIDE * SIDE} values, not {size}.")
    labels = np.array(y, dtype=np.int64)
    return LeafUser(name, _images(x, whose), labels)


def _images(x: list[list[Any]], whose: str) -> np.ndarray:
    try:
        values = np.array(x)
    except ValueError:  # a list among numbers
        values = np.array(["not numbers"])
    if len(x) and (values.dtype.kind not in "if" or values.ndim != 2):
        raise BadData(f"{whose} has a pixel that is not a number.")
    if len(x) and not 0 <= values.min() <= values.max() <= 1:
        low, high = values.min(), values.max()
        raise BadData(f"{whose} has pixels from {low} to {high}; LEAF's are from 0 to 1.")
    pixels = np.rint(values.astype(np.float64) * 255).astype(np.uint8)
    return pixels.reshape(-1, 1, SIDE, SIDE)
