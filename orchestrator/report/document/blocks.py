"""A report as plain blocks: what all formats that people read have in common."""

import textwrap
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Literal, TypeVar

T = TypeVar("T")
Tone = Literal["", "note", "alarm", "good", "heading", "command"]
"""How a paragraph is set: a heading is the title of what follows; a command stays on one line."""

Column = tuple[str, bool]
"""The name of a column, and whether it holds numbers, which stand to the right."""


@dataclass(frozen=True)
class Row:
    """Cells of a row; a ``reference`` read novel scores; those in ``bold`` by their places."""

    cells: tuple[str, ...]
    reference: bool = False
    bold: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Group:
    """Rows under a common heading, which may be empty."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """Groups of rows with the same columns."""

    columns: tuple[Column, ...]
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Paragraph:
    """One paragraph of running text."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Bar:
    """A line of a forest plot: a mean with its interval, in percent or percentage points.

    Attributes:
        group: the heading that it stands under, such as a method; may be empty.
        names: what it is of; of several that are equal, such as strategies, the first names it.
        mean, low, high: the ends are NaN where there is no interval.
        values: single values, such as those of the seeds.
        number: of its colour.
        reference: whether it read novel scores; it is drawn apart.
        within: the ends of a narrower interval of another kind; NaN where there is none.
        about: what a figure's tooltip says.
    """

    group: str
    names: tuple[str, ...]
    mean: float
    low: float = nan
    high: float = nan
    values: tuple[float, ...] = ()
    number: int = 0
    reference: bool = False
    within: tuple[float, float] = (nan, nan)
    about: str = ""


@dataclass(frozen=True)
class Forest:
    """A forest plot. Text is drawn with characters; a page shows a figure, LaTeX the tables.

    Attributes:
        title: what the scale shows.
        bars: from top to bottom; those of a group together, what matters most first.
        note: what the intervals are.
        least: what no value can be below, in percent: 0 for accuracies, -100 for regrets.
        each: what single values are of; two of them are shown.
        off: the groups that are left of the scale, far below the others.
    """

    title: str
    bars: tuple[Bar, ...]
    note: str
    least: float = 0
    each: str = "seed"
    off: tuple[str, ...] = ()


Block = Table | Paragraph | Bullets | Forest


@dataclass(frozen=True)
class Section:
    """A part of a document; ``key`` names it in links, and the figures that belong to it."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """What every format for people shows, without its figures.

    Attributes:
        headline: what it is about, such as ``NAME: complete``; the title of a page.
        answer: what a reader wants to know first.
        sections: all else; those with neither blocks nor figures are not shown.
        banner: what stands above the answer, such as what is missing from a run.
        warnings: what may make the answer wrong; shown beside it where there are no sections.
        complete: whether nothing is missing.
        opened: whether a page shows its sections at once, as of a document with few of them.
        words: what needs explaining on a page, with the explanation.
    """

    headline: str
    answer: tuple[Block, ...] = ()
    sections: tuple[Section, ...] = ()
    banner: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    complete: bool = True
    opened: bool = False
    words: Mapping[str, str] = field(default_factory=dict)

    def as_section(self, key: str) -> Section:
        """Return the whole document as a section of another one."""
        blocks = [*self.banner, *self.answer]
        for section in self.sections:
            blocks += [Paragraph(section.title, "heading"), *section.blocks]
        return Section(key, self.headline, tuple(blocks))


def words(*names: str) -> tuple[Column, ...]:
    """Return columns of words."""
    return tuple((name, False) for name in names)


def numbers(names: Sequence[str]) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple((name, True) for name in names)


def table(columns: Iterable[Column], rows: Iterable[Row | Sequence[str]]) -> Table:
    """Return a table without headings: rows, or their cells."""
    made = tuple(row if isinstance(row, Row) else Row(tuple(row)) for row in rows)
    return Table(tuple(columns), (Group("", made),))


def grouped(values: Iterable[T], key: Callable[[T], Hashable]) -> list[tuple[T, ...]]:
    """Return those with equal keys together, in the order of the first of each."""
    groups: dict[Hashable, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return [tuple(group) for group in groups.values()]


WRAPPED = 28
"""Cells and names of columns with more characters may be broken into lines."""


def in_parts(table: Table, room: float) -> tuple[list[int], list[list[int]]]:
    """Split columns into parts, where a line has no room for all of them.

    The leading columns of words, or else the first column, are in every part.

    Args:
        table: the whole table.
        room: characters in a line, with two of them between columns.

    Returns:
        The number of characters in the longest line of each column, and the columns of each part.
    """
    rows = [row for group in table.groups for row in group.rows]
    names = [textwrap.wrap(name, WRAPPED) for name, _ in table.columns]
    widths = [
        max(map(len, [*name, *(row.cells[at] for row in rows)])) for at, name in enumerate(names)
    ]
    lead = max([numeric for _, numeric in table.columns].index(True), 1)
    parts: list[list[int]] = []
    for at in range(lead, len(widths)):
        wanted = [*(parts[-1] if parts else range(lead)), at]
        if parts and sum(min(widths[i], WRAPPED) + 2 for i in wanted) > room + 2:
            parts.append([*range(lead), at])
        else:
            parts[-1:] = [wanted]
    return widths, parts
