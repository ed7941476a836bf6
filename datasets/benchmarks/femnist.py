"""FEMNIST: handwritten characters, grouped by the person who wrote them.

"LEAF: A Benchmark for Federated Settings" (Caldas et al., arXiv 1812.01097), as "Two Sides of
Meta-Learning Evaluation: In vs. Out of Distribution", section 4, makes tasks of it. LEAF's files
are ``{"user_data": {user: {"x": [[784 numbers], ...], "y": [...]}}, ...}``: images row by row with
values from 0, ink, to 1, paper; labels 0-9 digits, 10-35 capitals and 36-61 small letters. Reading
a file takes about seven times its size in memory.
"""

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress
from fsl_sweep.datasets.splits.writers import BaseTasks, writer_benchmark
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData

SIDE = 28
LABELS = 62
_PLACES = ("all_data", "data/all_data", "femnist/data/all_data")


def read_users(
    tree: FileTree, members: Sequence[Member]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Read each person's LEAF id, images ``[n, 1, 28, 28]``, paper 255, and labels ``[n]``.

    In the order of the files; twice if train and test files share the person.

    Raises:
        BadData: a file is not what LEAF writes, or repeats a person.
    """
    seen: dict[tuple[PurePosixPath, str], str] = {}
    for member in members:
        where = f"{tree.where}/{member.path}"
        try:
            users = json.loads(tree.read(member))["user_data"].items()
        except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as failure:
            raise BadData(
                f"{where} is not JSON as LEAF writes it, with an object 'user_data': {failure}."
            ) from failure
        for name, drawings in users:
            key = (PurePosixPath(member.path).parent, name)
            if key in seen:
                raise BadData(f"{where} repeats user '{name}' of {seen[key]}.")
            seen[key] = where
            yield name, *_drawings(drawings, f"{where}: user '{name}'")


@contextmanager
def open_leaf(root: Path) -> Iterator[tuple[FileTree, list[Member]]]:
    """Open LEAF's ``all_data``, or its ``train`` and ``test``, under a folder or in an archive.

    Raises:
        MissingData: there are no such files.
        As `open_tree`.
    """
    with open_tree(_place(root)) as tree:
        members = [member for member in tree.members if member.path.endswith(".json")]
        folders = {PurePosixPath(member.path).parent for member in members}
        whole = {folder for folder in folders if folder.name == "all_data"}
        halves = {folder for folder in folders if folder.name in ("train", "test")}
        chosen = whole or (halves if len(halves) == 2 else folders)
        if len(chosen) != (2 if chosen is halves else 1):
            listed = f"JSON files in {', '.join(sorted(map(str, folders)))}" if folders else "none"
            raise MissingData(
                f"{tree.where} must have LEAF's JSON files: a folder all_data with all_data_0.json "
                f"and so on, or folders train and test; there are {listed}."
            )
        taken = [m for m in members if PurePosixPath(m.path).parent in chosen]
        yield tree, sorted(taken, key=_in_order)


def _place(root: Path) -> Path:
    """Find the folder or archive to read: beside all_data LEAF leaves 800,000 image files."""
    return next((root / place for place in _PLACES if (root / place).is_dir()), root)


def _in_order(member: Member) -> tuple[str, list[int], str]:
    """Sort ``all_data_2.json`` before ``all_data_10.json``, and ``test`` before ``train``."""
    path = PurePosixPath(member.path)
    return str(path.parent), [int(number) for number in re.findall(r"\d+", path.name)], path.name


def _drawings(value: Any, whose: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        labels = np.array(value["y"]).reshape(-1)
        x = np.array(value["x"]).reshape(len(labels), SIDE * SIDE if len(labels) else 0)
        if len(x) and not (
            labels.dtype.kind == "i"
            and 0 <= labels.min() <= labels.max() < LABELS
            and x.dtype.kind in "if"
            and 0 <= x.min() <= x.max() <= 1
        ):
            raise ValueError
    except (TypeError, KeyError, ValueError) as failure:
        raise BadData(
            f"{whose} must have lists x and y: for each drawing {SIDE * SIDE} numbers from 0 to 1 "
            f"and an integer label from 0 to {LABELS - 1}."
        ) from failure
    pixels = np.rint(x.astype(np.float64) * 255).astype(np.uint8)
    return pixels.reshape(-1, 1, SIDE, SIDE), labels.astype(np.int64)


_CHARACTERS = {
    "digits": string.digits,
    "capitals": string.ascii_uppercase,
    "small letters": string.ascii_lowercase,
}


class FemnistOptions(Options):
    """Options of ``femnist``."""

    base: BaseTasks = Field(
        "held-out",
        description="what BaseGen is measured on: examples that are not trained on, or "
        "other draws of those that are",
    )
    held_out: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of each training writer's examples of a character for BaseGen",
    )
    seed: int = Field(0, ge=0, description="of the writers' split, held-out examples and supports")


@final
class Femnist(AbstractBenchmark[FemnistOptions]):
    """LEAF's JSON files; tasks are writers. Paper stays white (255) and ink black, as in LEAF."""

    name = "femnist"
    Options = FemnistOptions
    version = 1
    download = (
        "FEMNIST's JSON files: run `./preprocess.sh -s niid --sf 1.0 -k 0` in data/femnist of "
        "https://github.com/TalwalkarLab/leaf, and take its folder data/all_data"
    )

    def signature(self, options: FemnistOptions, root: Path | None) -> str:
        """Digest the JSON files' names, sizes and stamps."""
        with open_leaf(self.source_path(root)) as (_, members):
            return canonical_digest([[m.path, m.size, m.stamp] for m in members])

    def prepare(
        self, options: FemnistOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write writer by writer, numbered in the order of the files."""
        pool = writer.pool((1, SIDE, SIDE))
        numbers: dict[str, int] = {}
        done = 0
        with open_leaf(self.source_path(root)) as (tree, members):
            for user, images, labels in read_users(tree, members):
                number = numbers.setdefault(user, len(numbers))
                pool.append(images, labels, np.full(len(labels), number))
                done += len(labels)
                progress(done, None)
            if not done:
                raise BadData(f"{tree.where} holds no images.")
        pool.describe(
            [character for kind in _CHARACTERS.values() for character in kind],
            superclasses=[name for name, kind in _CHARACTERS.items() for _ in kind],
        )

    def assemble(self, options: FemnistOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Draw writers into training, validation and novel ones."""
        return writer_benchmark(
            self.name, pools["main"], options.held_out, options.seed, options.base
        )

    def unit(self, options: FemnistOptions) -> str:
        """Return the unit ``writers``."""
        return "writers"
