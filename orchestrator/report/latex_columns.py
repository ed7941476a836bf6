"""How wide the columns of a LaTeX table are: natural where there is room, else shared fairly."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fsl_sweep.orchestrator.report.blocks import Column, Table
from fsl_sweep.orchestrator.report.latex_text import LONGEST_WORD, pieces, shown

SIZES = {"footnotesize": (89.0, 0.95), "scriptsize": (95.0, 1.01), "tiny": (111.0, 1.18)}
"""The document's line, and the gap between two columns, in em of each size."""

WIDE_TITLE = 50.0
"""Up to so many em a group's title may be wider than its table, and widens it."""

_BOLD = 1.18
_OTHER = 0.62
_WIDTHS = {
    character: width
    for width, characters in (
        (0.34, "ijlfI.,:;!'`[]|() -"),
        (0.46, "rstcz?"),
        (0.52, 'aegov0123456789/*"\\{}$'),
        (0.8, "wABCDEFGHKLNOPQRTUVXY_+=<>@&"),
        (0.88, "mM%#"),
        (1.05, "W"),
    )
    for character in characters
}


@dataclass(frozen=True)
class Layout:
    """How a table is set.

    Attributes:
        size: of the font.
        columns: the column specifications, without the table's outer edges.
        title: the column specification of groups' titles.
    """

    size: str
    columns: str
    title: str


@dataclass(frozen=True)
class _Needs:
    """Widths of a column's content in em, and whether a cell has several lines."""

    natural: float
    least: float
    several: bool


def laid_out(table: Table) -> Layout:
    """The layout in the largest of ``SIZES`` in which no column cuts a word, or in the smallest.

    Columns that are narrower than their fair share keep their width; the others share the rest
    and break their lines.
    """
    needs = [_needs(table, i) for i in range(len(table.columns))]
    size = _size(needs) or list(SIZES)[-1]
    return _layout(table, needs, size, _cap(needs, size))


def in_parts(table: Table) -> list[Table]:
    """The table, or two and more with some of its columns each where one would be too wide.

    Leading columns of words, or else the first column, stand in every part.
    """
    needs = [_needs(table, i) for i in range(len(table.columns))]
    wordy = [not column.numeric for column in table.columns]
    lead = max(wordy.index(False) if False in wordy else 0, 1)
    rest = range(lead, len(needs))
    if _size(needs) or len(rest) < 2:
        return [table]
    middle = lead + (len(rest) + 1) // 2
    halves = (range(lead, middle), range(middle, len(needs)))
    return [part for half in halves for part in in_parts(_kept(table, [*range(lead), *half]))]


def fair_cap(natural: Sequence[float], room: float) -> float:
    """The largest cap under which ``sum(min(width, cap))`` fits into the room."""
    left, ordered = room, sorted(natural)
    for number, width in enumerate(ordered):
        share = left / (len(ordered) - number)
        if width > share:
            return share
        left -= width
    return ordered[-1]


def width_of(text: str, bold: bool = False) -> float:
    """About how wide a text is in em: rather more than less."""
    width = sum(_WIDTHS.get(character, _OTHER) for character in shown(text))
    return width * _BOLD if bold else width


def _kept(table: Table, kept: Sequence[int]) -> Table:
    """The table with these columns alone."""
    columns = tuple(table.columns[i] for i in kept)
    groups = (
        replace(
            group,
            rows=tuple(replace(row, cells=tuple(row.cells[i] for i in kept)) for row in group.rows),
        )
        for group in table.groups
    )
    return Table(columns, tuple(groups))


def _size(needs: Sequence[_Needs]) -> str | None:
    """The largest size in which no column cuts a word; None where there is none."""
    whole = (size for size in SIZES if all(one.least <= _cap(needs, size) for one in needs))
    return next(whole, None)


def _needs(table: Table, index: int) -> _Needs:
    rows = [row for group in table.groups for row in group.rows]
    cells = [(table.columns[index].name, False)]
    cells += [(line, row.weight == "best") for row in rows for line in row.cells[index].split("\n")]
    return _Needs(
        natural=max(width_of(*cell) for cell in cells),
        least=max(width_of(part, bold) for text, bold in cells for part in _parts(text)),
        several=any("\n" in row.cells[index] for row in rows),
    )


def _parts(text: str) -> Iterable[str]:
    """What stays on one line."""
    for word in text.split() or [""]:
        yield from [word] if len(shown(word)) <= LONGEST_WORD else pieces(word)


def _cap(needs: Sequence[_Needs], size: str) -> float:
    line, gap = SIZES[size]
    return fair_cap([one.natural for one in needs], line - gap * (len(needs) - 1))


def _layout(table: Table, needs: Sequence[_Needs], size: str, cap: float) -> Layout:
    line, gap = SIZES[size]
    columns = "".join(
        _column(column, one, cap, line) for column, one in zip(table.columns, needs, strict=True)
    )
    taken = sum(min(one.natural, cap) for one in needs) + gap * (len(needs) - 1)
    limit = min(max(taken, WIDE_TITLE), line)
    fits = all(width_of(group.title, bold=True) <= limit for group in table.groups)
    return Layout(size, columns, "l" if fits else _paragraph("raggedright", limit / line))


def _column(column: Column, needs: _Needs, cap: float, line: float) -> str:
    if needs.natural <= cap and not needs.several:
        return "r" if column.numeric else "l"
    look = "raggedleft" if column.numeric else "raggedright"
    return _paragraph(look, min(needs.natural, cap) / line)


def _paragraph(look: str, share: float) -> str:
    return rf">{{\{look}\arraybackslash}}p{{{share:.3f}\linewidth}}"
