"""Omniglot: 1,623 handwritten characters of 50 alphabets, each drawn by 20 people.

"Human-level concept learning through probabilistic program induction" (Lake et al., 2015).
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal, final

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import MEASURED, Benchmark
from fsl_sweep.datasets.files.archives import open_tree
from fsl_sweep.datasets.files.decoding import read_image, squared
from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.files.download import RemoteFile
from fsl_sweep.datasets.files.file_tree import FileTree, Member
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import AbstractBenchmark, Options, Progress
from fsl_sweep.datasets.splits.drawn import class_benchmark, draw_partition, read_facts
from fsl_sweep.datasets.store.writing import StoreWriter
from fsl_sweep.orchestrator.errors import BadData, MissingData
from fsl_sweep.orchestrator.text.printed import counted

SplitRule = Literal["alphabets", "vinyals", "metadl"]

PARTS = {"images_background": 964, "images_evaluation": 659}
DRAWERS = 20
_ROTATION = "@"


def rotated_name(name: str, quarter_turns: int) -> str:
    """Name a turned character: ``Greek/character01``, turned twice, ``Greek/character01@180``."""
    return f"{name}{_ROTATION}{90 * quarter_turns}" if quarter_turns else name


def upright_name(name: str) -> str:
    """Return the character of a class, whichever way it is turned."""
    return name.partition(_ROTATION)[0]


def partition(
    rule: SplitRule, class_names: Sequence[str], parts: Sequence[str], seed: int
) -> dict[str, np.ndarray]:
    """Return the class labels of base, val and novel.

    * ``alphabets``: all 50 alphabets, drawn by ``seed`` into 30, 8 and 12.
    * ``vinyals``: the lists of "Matching Networks for One Shot Learning" (Vinyals et al., 2016) as
      they have been handed down, 1028, 172 and 423 characters.
    * ``metadl``: the official background set (964 characters) is base and val, val being 5 of its
      30 alphabets drawn by ``seed``, and the evaluation set (659) is novel.

    ``class_names`` are ``Alphabet/characterNN``, perhaps with a rotation; ``parts`` the official
    archive of each class.
    """
    alphabets = [name.partition("/")[0] for name in class_names]
    if rule == "alphabets":
        return draw_partition(alphabets, (0.6, 0.15, 0.25), seed)
    if rule == "vinyals":
        return _published(class_names)
    background = np.array([part == "images_background" for part in parts])
    names = sorted({a for a, inside in zip(alphabets, background, strict=True) if inside})
    named_generator(seed, "metadl").shuffle(names)
    val = background & np.isin(alphabets, names[:5])
    return {
        "base": np.flatnonzero(background & ~val),
        "val": np.flatnonzero(val),
        "novel": np.flatnonzero(~background),
    }


def _published(class_names: Sequence[str]) -> dict[str, np.ndarray]:
    split_of = {
        f"{alphabet}/character{number:02d}": split
        for split, ranges in read_facts("omniglot_vinyals.json")["characters"].items()
        for alphabet, (first, last) in ranges.items()
        for number in range(first, last + 1)
    }
    splits = np.array([split_of[upright_name(name)] for name in class_names])
    return {split: np.flatnonzero(splits == split) for split in MEASURED}


_OFFICIAL = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
_FILE = re.compile(r"(?P<character>[^/]+/character\d\d)/\d{4}_(?P<drawer>\d\d)\.png")


class OmniglotOptions(Options):
    """Options of ``omniglot``."""

    split: SplitRule = Field("alphabets", description="how classes become base, val and novel")
    image_size: int = Field(28, ge=8, le=105, description="side of the images in pixels")
    rotations: bool = Field(
        False, description="characters turned by 90, 180 and 270 degrees are classes of their own"
    )
    held_out: float = Field(0.2, gt=0, lt=1, description="share of base examples for BaseGen")
    seed: int = Field(0, ge=0, description="of the class split and of the held-out examples")


@final
class Omniglot(AbstractBenchmark[OmniglotOptions]):
    """The official zips, or the folders that they extract to."""

    name = "omniglot"
    Options = OmniglotOptions
    version = 1
    download = (
        "images_background.zip and images_evaluation.zip from "
        "https://github.com/brendenlake/omniglot (folder python/)"
    )
    files = (
        RemoteFile(f"{_OFFICIAL}/images_background.zip", "md5:68d2efa1b9178cc56df9314c21c6e718"),
        RemoteFile(f"{_OFFICIAL}/images_evaluation.zip", "md5:6b91aef0f799c5bb55b94e3f2daec811"),
    )

    pooled = frozenset({"image_size", "rotations"})

    def signature(self, options: OmniglotOptions, root: Path | None) -> str:
        """Digest both parts."""
        with ExitStack() as stack:
            trees = _open_parts(self.source_path(root), stack)
            return canonical_digest({part: tree.signature() for part, tree in trees.items()})

    def prepare(
        self, options: OmniglotOptions, root: Path | None, writer: StoreWriter, progress: Progress
    ) -> None:
        """Write strokes bright on black, scaled with antialiasing, character by character."""
        with ExitStack() as stack:
            characters = _characters(_open_parts(self.source_path(root), stack))
            pool = writer.pool((1, options.image_size, options.image_size))
            turns = 4 if options.rotations else 1
            drawers = np.tile(np.arange(1, DRAWERS + 1), turns)
            for number, (_, tree, drawings) in enumerate(characters.values()):
                labels = np.repeat(turns * number + np.arange(turns), DRAWERS)
                # The files have black ink on white.
                images = [read_image(tree, drawing, "grey") for drawing in drawings]
                upright = 255 - np.stack([squared(i, options.image_size) for i in images])
                turned = [np.rot90(upright, turn, axes=(2, 3)) for turn in range(turns)]
                pool.append(np.concatenate(turned), labels, drawers)
                progress((number + 1) * len(labels), len(characters) * len(labels))
            names = [rotated_name(name, turn) for name in characters for turn in range(turns)]
            parts = [[its == part for part in PARTS] for its, _, _ in characters.values()]
            pool.describe(
                names,
                superclasses=[name.partition("/")[0] for name in names],
                attributes=np.repeat(parts, turns, axis=0),
                attribute_names=tuple(PARTS),
            )

    def assemble(self, options: OmniglotOptions, pools: Mapping[str, ImagePool]) -> Benchmark:
        """Split classes as chosen, base examples by the held-out share, with their turns."""
        pool = pools["main"]
        parts = [tuple(PARTS)[row.argmax()] for row in np.asarray(pool.attributes)]
        split = partition(options.split, pool.class_names, parts, options.seed)
        pool = replace(pool, families=tuple(map(upright_name, pool.class_names)))
        return class_benchmark(self.name, pool, split, options.held_out, options.seed)

    def expected(self, options: OmniglotOptions) -> Mapping[str, int]:
        """Return the published counts; those of a split by alphabet depend on its seed."""
        times = 4 if options.rotations else 1
        if options.split == "vinyals":
            return {"base": 1028 * times, "val": 172 * times, "novel": 423 * times}
        if options.split == "metadl":
            return {"novel": PARTS["images_evaluation"] * times}
        return {}


def _open_parts(root: Path, stack: ExitStack) -> dict[str, FileTree]:
    """Open both official parts; zips before folders, for their CRCs."""
    trees: dict[str, FileTree] = {}
    for part in PARTS:
        path = next((p for p in (root / f"{part}.zip", root / part) if p.exists()), None)
        if path is None:
            raise MissingData(
                f"{root} has neither {part}.zip nor a folder {part}. Get {Omniglot.download}."
            )
        trees[part] = stack.enter_context(open_tree(path))
    return trees


def _characters(trees: Mapping[str, FileTree]) -> dict[str, tuple[str, FileTree, list[Member]]]:
    """List each character's part and drawings, by drawer, and check that none is missing."""
    characters: dict[str, tuple[str, FileTree, list[Member]]] = {}
    for part, tree in trees.items():
        drawings: dict[str, list[tuple[int, Member]]] = {}
        for member in tree.members:
            # A zip repeats the part's name around everything.
            match = _FILE.fullmatch(member.path.removeprefix(f"{part}/"))
            if match is None:
                raise BadData(
                    f"{tree.where} has a file {member.path}, which is not Alphabet/characterNN/"
                    "IIII_DD.png. Take the official images, without other files."
                )
            drawings.setdefault(match["character"], []).append((int(match["drawer"]), member))
        drawers = {tuple(sorted(drawer for drawer, _ in drawn)) for drawn in drawings.values()}
        if len(drawings) != PARTS[part] or drawers != {tuple(range(1, DRAWERS + 1))}:
            raise BadData(
                f"{tree.where} has {counted(len(tree.members), 'drawing')} of "
                f"{counted(len(drawings), 'character')}; the official part has {PARTS[part]} "
                f"characters, each by the same {DRAWERS} people. Download or extract it again."
            )
        for name, drawn in drawings.items():
            drawn.sort(key=lambda drawing: drawing[0])
            characters[name] = (part, tree, [member for _, member in drawn])
    return dict(sorted(characters.items()))
