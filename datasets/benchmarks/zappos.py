"""UT Zappos50K: 50,025 shoes with attributes, as two benchmarks.

Yu and Grauman, "Fine-Grained Visual Comparisons with Local Learning" (CVPR 2014). Tasks as in "Two
Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 4 and appendix D.1.

The table ``meta-data-bin.csv`` has a row for each shoe, beginning with its ``CID`` (product and
colour, such as ``100627-72``), and a column of zeros and ones for each value of each property, such
as ``Closure.Lace.up``. A shoe and its image are matched by name: ``100627.72.jpg``.
``image-path.mat`` is not used: if a brand's name ends in a full stop, its folders are not those of
the archives.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from PIL import Image, ImageOps
from pydantic import Field

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.source import AbstractBenchmark, Progress, append_images
from fsl_sweep.datasets.splits.attributes import (
    AttributeOptions,
    attribute_benchmark,
    attribute_sets,
)
from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.datasets.store.writing import StoreWriter
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
DOWNLOAD = (
    "ut-zap50k-images-square.zip and ut-zap50k-data.zip from "
    "https://vision.cs.utexas.edu/projects/finegrained/utzap50k/"
)
_TABLE = "meta-data-bin.csv"
_IMAGES = ("ut-zap50k-images-square", "ut-zap50k-images")
_DATA = "ut-zap50k-data"


class ZapposOptions(AttributeOptions):
    """Options of ``zappos-id`` and ``zappos-ood``."""

    image_size: int = Field(84, ge=8, le=136, description="side of the images in pixels")
    partition: Literal["published", "spectral"] = Field(
        "published", description="A and A' of the paper's Table 3, or a new cut of these images"
    )


class AbstractZappos(AbstractBenchmark[ZapposOptions]):
    """The official zips, or the folders that they extract to.

    A class of the pool is a combination of attributes; shoes with the same ones are of one class.

    Attributes:
        apart: whether novel tasks are pairs from A', which no training task has; else from A.
    """

    apart: ClassVar[bool]
    Options = ZapposOptions
    version = 2
    download = DOWNLOAD
    pooled = frozenset({"image_size"})

    def signature(self, options: ZapposOptions, root: Path | None) -> str:
        """Digest names, sizes and stamps of the table and the images."""
        with ExitStack() as stack:
            _, table, _, member = _opened(self.source_path(root), stack)
            rows = [[name, m.size, m.stamp] for name, m in sorted(member.items())]
            return canonical_digest([table.size, table.stamp, rows])

    def prepare(
        self, options: ZapposOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write shoes on white squares, scaled with antialiasing, in the order of their names."""
        with ExitStack() as stack:
            data, table, images, member = _opened(self.source_path(root), stack)
            where = f"{data.where}/{table.path}"
            shoes, names, carried = read_table(data.read(table), where)
            if lacking := [shoe for shoe in shoes if shoe not in member]:
                raise BadData(
                    f"{images.where} has no image of {len(lacking)} of the {len(shoes)} shoes in "
                    f"{where}, such as {lacking[0]}; extract or download it again."
                )

            def on_white(shoe: str) -> Image.Image:  # as the official square images are
                image = read_image(images, member[shoe], "rgb")
                return ImageOps.pad(image, (max(image.size), max(image.size)), color=(255,) * 3)

            rows, kinds = np.unique(carried, axis=0, return_inverse=True)
            pool = writer.pool((3, options.image_size, options.image_size))
            parts = [(kinds.reshape(-1), shoes, on_white)]
            append_images(pool, parts, options.image_size, progress)
            combinations = [f"combination-{number:05d}" for number in range(len(rows))]
            pool.describe(combinations, attributes=rows, attribute_names=names)

    def assemble(self, options: ZapposOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Make training, base and val tasks of pairs from A, novel ones from A or A'."""
        pool = pools["main"]
        names = pool.attribute_names or ()
        if options.partition == "spectral":
            known, other = attribute_sets(pool, np.arange(len(names)), options.min_images)
        else:
            known, other = (np.array([*map(names.index, group)]) for group in published_sets())
        return attribute_benchmark(self.name, pool, known, other if self.apart else known, options)

    def expected(self, options: ZapposOptions) -> Mapping[str, int]:
        """Return the published numbers of attributes."""
        if options.partition != "published":
            return {}
        return {"val": 36, "novel": 30 if self.apart else 36}

    def unit(self, options: ZapposOptions) -> str:
        """Return the unit ``attributes``."""
        return "attributes"


@final
class ZapposId(AbstractZappos):
    """In distribution: training and novel tasks are drawn in the same way."""

    name = "zappos-id"
    apart = False


@final
class ZapposOod(AbstractZappos):
    """Out of distribution: A and A' share no attribute, and few images."""

    name = "zappos-ood"
    apart = True


def published_sets() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read A and A' of "Two Sides of Meta-Learning Evaluation", Table 3: 36 and 30 attributes."""
    lists = read_facts("zappos_attributes.json")
    return tuple(lists["A"]), tuple(lists["A'"])


def read_table(content: bytes, where: str) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    """Read the table in a file's bytes, reduced to the attributes of the paper.

    Returns:
        The CIDs of the shoes, sorted; the names of the attributes; bool ``[S, A]``: who has what.
    """
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
    used = [column for group in columns for column in group]
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]) or not {row[column].strip() for column in used} <= {"0", "1"}:
            raise BadData(
                f"{where}, row {number}: the table is damaged there, or has a value other than 0 "
                "or 1; download it again."
            )
    rows = sorted(rows[1:], key=lambda row: row[0])
    shoes = tuple(row[0].strip() for row in rows)
    for shoe, following in pairwise(shoes):
        if shoe == following:
            raise BadData(f"{where} lists the shoe {shoe} twice.")
    carried = [[any(row[c].strip() == "1" for c in group) for group in columns] for row in rows]
    return shoes, names, np.array(carried)


def _columns(name: str, header: Mapping[str, int], where: str) -> list[int]:
    if _spelling(name) in header:
        return [header[_spelling(name)]]
    bins = _HEELS.get(name, (name,))
    for part in bins:
        if _spelling(part) not in header:
            purpose = "" if part == name else f" for '{name}'"
            hint = did_you_mean(_spelling(part), header)
            raise BadData(f"{where} has no column '{part}'{purpose}; {hint}")
    return [header[_spelling(part)] for part in bins]


def _spelling(name: str) -> str:
    """Spell alike what copies of the table write ``ToeStyle.Open Toe`` or ``ToeStyle.Open.Toe``."""
    return name.strip().lower().replace(" ", ".")


def _opened(root: Path, stack: ExitStack) -> tuple[FileTree, Member, FileTree, dict[str, Member]]:
    """Open what holds the table, the table, the images, and the image of each shoe, by CID."""
    images, data = _first(root, _IMAGES, stack), _first(root, (_DATA,), stack)
    table = next((m for m in data.members if m.path.rpartition("/")[2] == _TABLE), None)
    if table is None:
        raise MissingData(f"{data.where} has no {_TABLE}. Get {DOWNLOAD}.")
    return data, table, images, _by_shoe(images)


def _first(root: Path, names: Sequence[str], stack: ExitStack) -> FileTree:
    """Open the first of these folders or zips that is there."""
    for path in (root / file for name in names for file in (name, f"{name}.zip")):
        if path.exists():
            return stack.enter_context(open_tree(path))
    raise MissingData(f"{root} has no {' or '.join(names)}, as a folder or zip. Get {DOWNLOAD}.")


def _by_shoe(images: FileTree) -> dict[str, Member]:
    image_of: dict[str, Member] = {}
    for member in images.members:
        stem, dot, suffix = member.path.rpartition("/")[2].rpartition(".")
        if not dot or suffix.lower() not in ("jpg", "jpeg", "png"):
            continue
        shoe = stem.replace(".", "-")
        if shoe in image_of:
            raise BadData(
                f"{images.where} has two images of the shoe {shoe}: {image_of[shoe].path} and "
                f"{member.path}."
            )
        image_of[shoe] = member
    return image_of
