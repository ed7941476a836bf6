"""The class splits of Omniglot, and what its official archives hold."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from fsl_sweep.datasets.benchmark import MEASURED
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.splits.drawn import draw_partition, read_facts

SplitRule = Literal["alphabets", "vinyals", "metadl"]

PARTS = {"images_background": 964, "images_evaluation": 659}
DRAWERS = 20
_ROTATION = "@"


def rotated_name(name: str, quarter_turns: int) -> str:
    """``Greek/character01`` turned twice is ``Greek/character01@180``."""
    return f"{name}{_ROTATION}{90 * quarter_turns}" if quarter_turns else name


def upright_name(name: str) -> str:
    """The inverse: the character of a class, whichever way it is turned."""
    return name.partition(_ROTATION)[0]


def partition(
    rule: SplitRule, class_names: Sequence[str], parts: Sequence[str], seed: int
) -> dict[str, np.ndarray]:
    """Class labels of base, val and novel.

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
