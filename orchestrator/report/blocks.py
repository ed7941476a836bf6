"""A written report as plain blocks: what Markdown, LaTeX and HTML have in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "note", "alarm", "good"]
Weight = Literal["", "best", "reference"]


@dataclass(frozen=True)
class Column:
    """A column of a table: numbers stand to the right, words to the left."""

    name: str
    numeric: bool = True


@dataclass(frozen=True)
class Row:
    """Cells of a row; lines within a cell are separated by newlines.

    ``best`` marks the best of a group, ``reference`` what read novel scores.
    """

    cells: tuple[str, ...]
    weight: Weight = ""


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


Block = Table | Paragraph | Bullets


@dataclass(frozen=True)
class Section:
    """A part of the report; ``key`` names it in links."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A report without its figures.

    Attributes:
        headline: ``NAME: complete`` or ``NAME: INCOMPLETE``.
        complete: which of the two.
        banner: how much of the plan is there, and what is missing.
        sections: those that have something to show.
    """

    headline: str
    complete: bool
    banner: tuple[Block, ...]
    sections: tuple[Section, ...]


def words(*names: str) -> tuple[Column, ...]:
    """Columns of words."""
    return tuple(Column(name, numeric=False) for name in names)


def numbers(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(map(Column, names))
