"""The official files of UT Zappos50K, as zips or extracted.

The table and the images are matched by the shoe's name: row ``100627-72`` is ``100627.72.jpg``.
``image-path.mat`` is not used: if a brand's name ends in a full stop, its folders are not those
of the archives. The table ``meta-data-bin.csv`` has a row for each shoe, beginning with its ``CID``
(product and colour), and a column of zeros and ones for each value of each property, such as
``Closure.Lace.up``.
"""

import csv
import io
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import ImageOps

from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image, squared
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.orchestrator.errors import BadData, MissingData, did_you_mean

# "Two Sides" names two heights where the table has bins of inches. The bins are those of its
# authors' code; shoes of two and three inches have neither.
_HEELS: Mapping[str, tuple[str, ...]] = {
    "HeelHeight.Short.heel": (
        "HeelHeight.Flat",
        "HeelHeight.Under.1in",
        "HeelHeight.1in...1.3.4in",
    ),
    "HeelHeight.High.heel": ("HeelHeight.4in...4.3.4in", "HeelHeight.5in...over"),
}


def published_sets() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A and A' of "Two Sides of Meta-Learning Evaluation", Table 3: 36 and 30 attributes."""
    lists = read_facts("zappos_attributes.json")
    return tuple(lists["A"]), tuple(lists["A'"])


@dataclass(frozen=True, eq=False)
class ShoeTable:
    """What is known of each shoe (a CID such as ``100627-72``), sorted; bool ``[S, A]``."""

    shoes: tuple[str, ...]
    names: tuple[str, ...]
    carried: np.ndarray


def read_table(content: bytes, where: str) -> ShoeTable:
    """The table in a file's bytes, reduced to the attributes of the paper."""
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as failure:
        raise BadData(f"{where} cannot be read as a table ({failure}).") from failure
    rows = [row for row in rows if row]
    if len(rows) < 2 or rows[0][0].strip() != "CID":
        raise BadData(f"{where} is not the official table: its first column must be 'CID'.")
    header = {_spelling(name): column for column, name in enumerate(rows[0])}
    names = tuple(sorted(name for group in published_sets() for name in group))
    columns = [_columns(name, header, where) for name in names]
    ragged = [number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])]
    if ragged:
        raise BadData(f"{where}, row {ragged[0]}: the table is cut off there; download it again.")
    rows = sorted(rows[1:], key=lambda row: row[0])
    shoes = tuple(row[0].strip() for row in rows)
    for one, other in pairwise(shoes):
        if one == other:
            raise BadData(f"{where} lists the shoe {one} twice.")
    used = [column for group in columns for column in group]
    cells = np.array([[row[column].strip() for column in used] for row in rows])
    odd = np.argwhere(~np.isin(cells, ("0", "1")))
    if len(odd):
        raise BadData(f"{where}: the row of {shoes[odd[0][0]]} has a value other than 0 or 1.")
    carried = [(cells[:, np.isin(used, group)] == "1").any(axis=1) for group in columns]
    return ShoeTable(shoes, names, np.stack(carried, axis=1))


def _columns(name: str, header: Mapping[str, int], where: str) -> list[int]:
    if _spelling(name) in header:
        return [header[_spelling(name)]]
    bins = _HEELS.get(name, (name,))
    for part in bins:
        if _spelling(part) not in header:
            hint = did_you_mean(_spelling(part), header)
            raise BadData(f"{where} has no column '{part}' for '{name}'; {hint}")
    return [header[_spelling(part)] for part in bins]


def _spelling(name: str) -> str:
    """Some copies of the table write ``ToeStyle.Open Toe``, some ``ToeStyle.Open.Toe``."""
    return name.strip().lower().replace(" ", ".")


DOWNLOAD = (
    "ut-zap50k-images-square.zip and ut-zap50k-data.zip from "
    "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/"
)
_TABLE = "meta-data-bin.csv"
_IMAGES = ("ut-zap50k-images-square", "ut-zap50k-images")
_DATA = "ut-zap50k-data"


@dataclass(frozen=True)
class ZapposFiles:
    """The table's file and the images, opened; ``member`` is the image of each shoe, by CID."""

    data: FileTree
    table: Member
    images: FileTree
    member: Mapping[str, Member]

    def signature(self) -> str:
        """Hex digest of names, sizes and stamps of the table and the images."""
        rows = [[name, m.size, m.stamp] for name, m in sorted(self.member.items())]
        return canonical_digest([self.table.size, self.table.stamp, rows])

    def read_shoes(self) -> ShoeTable:
        """The table, checked against the images."""
        where = f"{self.data.where}/{self.table.path}"
        shoes = read_table(self.data.read(self.table), where)
        lacking = [name for name in shoes.shoes if name not in self.member]
        if lacking:
            raise BadData(
                f"{self.images.where} has no image of {len(lacking)} of the {len(shoes.shoes)} "
                f"shoes in {where}, such as {lacking[0]}; extract or download it again."
            )
        return shoes

    def pixels(self, names: tuple[str, ...], side: int) -> np.ndarray:
        """The images of the shoes, uint8 ``[len(names), 3, side, side]``.

        A wide image is first put on a white square, as the official square images are.
        """
        images = (read_image(self.images, self.member[name], "rgb") for name in names)
        white = (255, 255, 255)
        return np.stack(
            [
                squared(ImageOps.pad(i, (max(i.size), max(i.size)), color=white), side)
                for i in images
            ]
        )


def open_zappos(root: Path, stack: ExitStack) -> ZapposFiles:
    """The files under ``root``, which the stack keeps open."""
    start = root.parent if root.is_file() or root.name in _IMAGES else root
    images = _first([start / name for name in _IMAGES], start, stack)
    folder = images.where if images.where.is_dir() else start
    data = _first([start / _DATA, folder / _DATA, start / _TABLE], start, stack, _TABLE)
    table = next((m for m in data.members if m.path.rpartition("/")[2] == _TABLE), None)
    if table is None:
        raise MissingData(f"{data.where} has no {_TABLE}. Get {DOWNLOAD}.")
    return ZapposFiles(data, table, images, _by_shoe(images))


def _first(places: list[Path], start: Path, stack: ExitStack, what: str = "images") -> FileTree:
    for place in places:
        for path in (place, place.with_name(f"{place.name}.zip")):
            if path.is_dir() or (path.suffix == ".zip" and path.exists()):
                return stack.enter_context(open_tree(path))
            if path.is_file():
                return stack.enter_context(open_tree(path.parent))
    looked = ", ".join(place.name for place in places)
    raise MissingData(
        f"{start} has no {what} of UT Zappos50K ({looked}, as a folder or zip). Get {DOWNLOAD}."
    )


def _by_shoe(images: FileTree) -> dict[str, Member]:
    found: dict[str, Member] = {}
    for member in images.members:
        stem, dot, suffix = member.path.rpartition("/")[2].rpartition(".")
        if not dot or suffix.lower() not in ("jpg", "jpeg", "png"):
            continue
        shoe = stem.replace(".", "-")
        if shoe in found:
            raise BadData(
                f"{images.where} has two images of the shoe {shoe}: {found[shoe].path} and "
                f"{member.path}."
            )
        found[shoe] = member
    return found
