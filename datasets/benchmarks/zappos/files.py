"""The official files of UT Zappos50K, as zips or extracted.

The table and the images are matched by the shoe's name: row ``100627-72`` is ``100627.72.jpg``.
``image-path.mat`` is not used: if a brand's name ends in a full stop, its folders are not those
of the archives.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import ImageOps

from fsl_sweep.datasets.benchmarks.zappos.table import ShoeTable, read_table
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image, squared
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.orchestrator.errors import BadData, MissingData

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
        """Hex digest of names and sizes of the table and the images."""
        rows = [[name, m.size, m.crc] for name, m in sorted(self.member.items())]
        return canonical_digest([self.table.size, self.table.crc, rows])

    def read_shoes(self) -> ShoeTable:
        """The table, checked against the images.

        Raises:
            BadData: the table is not the official one, or a shoe has no image.
        """
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

        Raises:
            BadData: an image cannot be decoded; names it.
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
    """The files under ``root``, which the stack keeps open.

    Raises:
        MissingData: images or table are missing; says where they were expected.
        BadData: an archive is damaged or hostile, or two images are of one shoe.
    """
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
