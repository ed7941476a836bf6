"""The attribute table of UT Zappos50K: which of 66 attributes each shoe carries.

The table is ``meta-data-bin.csv`` of Yu and Grauman ("Fine-Grained Visual Comparisons with Local
Learning", CVPR 2014): a row for each shoe, beginning with its ``CID`` (product and colour), and a
column of zeros and ones for each value of each property, such as ``Closure.Lace.up``.
"""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fsl_sweep.datasets.splits.drawn import read_facts
from fsl_sweep.orchestrator.errors import BadData, did_you_mean

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
    """The table in a file's bytes, reduced to the attributes of the paper.

    Raises:
        BadData: it is not such a table, a column is missing, or a shoe is listed twice.
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
            what = f"'{part}'" if part == name else f"'{name}', and none '{part}', a bin of it"
            raise BadData(f"{where} has no column {what}; {did_you_mean(_spelling(part), header)}")
    return [header[_spelling(part)] for part in bins]


def _spelling(name: str) -> str:
    """Some copies of the table write ``ToeStyle.Open Toe``, some ``ToeStyle.Open.Toe``."""
    return name.strip().lower().replace(" ", ".")
