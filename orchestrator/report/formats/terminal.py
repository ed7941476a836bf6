"""The report on a terminal, or as plain text where there is none."""

import io
import sys
import textwrap
from collections.abc import Iterable

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text

from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    WRAPPED,
    Block,
    Bullets,
    Group,
    Paragraph,
    Row,
    Table,
    Trend,
    in_parts,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.formats.console import SafeConsole
from fsl_sweep.orchestrator.text.printed import say

PROBLEMS_SHOWN = 10
PROSE = 100
"""Columns of sentences where there is no terminal."""

TREND = 12
"""Characters of a curve."""

_BLOCKS, _ASCII = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_TONES = {"": "", "note": "dim", "alarm": "red", "good": "green"}
_WEIGHTS = {"": "", "best": "bold", "reference": "dim"}
_VERDICTS = {"better": "green", "worse": "red", "equivalent": "cyan", "undecided": "dim"}
_AS_WIDE_AS_NEEDED = 10**6


def show(report: Report, console: SafeConsole | None = None) -> None:
    """Print the report on a terminal, or as ``to_text`` into a pipe or a file."""
    console = console or SafeConsole(file=sys.stdout)
    if not console.is_terminal:
        text = to_text(report, ascii_only=console.options.ascii_only)
        say(text.removesuffix("\n"), console.file)
        return
    _print(report, console, console.width, whole=False)


def to_text(report: Report, width: int | None = None, *, ascii_only: bool = False) -> str:
    """The report as plain text without colour codes.

    Args:
        report: its content.
        width: columns that no line leaves; a wide table is then printed in parts. By default a
            table is as wide as it needs.
        ascii_only: draw lines with ASCII.
    """
    file = io.StringIO()
    console = SafeConsole(
        file=file, width=width or _AS_WIDE_AS_NEEDED, no_color=True, force_terminal=False
    )
    _print(report, console, width or PROSE, whole=True, ascii_only=ascii_only)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print(
    report: Report, console: SafeConsole, prose: int, *, whole: bool, ascii_only: bool | None = None
) -> None:
    """Print all parts, tables as wide as the console and all else as wide as ``prose``."""
    if ascii_only is None:
        ascii_only = console.options.ascii_only
    content = document(report, bold=console.is_terminal and console.color_system is not None)
    look = "bold green" if content.complete else "bold white on red"
    parts: list[RenderableType] = [Text(content.headline, look)]
    for block in content.banner:
        if isinstance(block, Bullets) and not whole and len(block.items) > PROBLEMS_SHOWN:
            more = len(block.items) - PROBLEMS_SHOWN
            shown = block.items[:PROBLEMS_SHOWN]
            block = Bullets((*shown, f"... and {more} more; see `fsl-sweep status`."))
        parts += _block(block, console.width, ascii_only)
    for section in content.sections:
        line = "-" if ascii_only else "─"
        title = Text(section.title, "bold")
        parts += [Text(), Rule(title, align="left", style="dim", characters=line)]
        for block in section.blocks:
            parts += _block(block, console.width, ascii_only)
    for part in parts:
        console.print(part, width=console.width if isinstance(part, RichTable) else prose)


def _block(block: Block, width: int, ascii_only: bool) -> Iterable[RenderableType]:
    match block:
        case Paragraph(text, tone):
            if tone == "note":
                yield Text()
            yield Text(text, _TONES[tone])
        case Bullets(items):
            for item in items:
                yield Padding(Text(item), (0, 0, 0, 2))
        case Table(groups=groups):
            for group in groups:
                if group.title:
                    yield Text(f"\n{group.title}", "bold cyan")
                drawn = Table(block.columns, (_with_curves(group, ascii_only),))
                for number, (part, widths) in enumerate(in_parts(drawn, width)):
                    if number:
                        yield Text()
                    yield _table(part, widths)


def _table(table: Table, widths: list[int]) -> RichTable:
    """A table without a frame: it stays aligned as plain text."""
    drawn = RichTable(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column, width in zip(table.columns, widths, strict=True):
        drawn.add_column(
            Text("\n".join(textwrap.wrap(column.name, WRAPPED))),
            justify="right" if column.numeric else "left",
            no_wrap=column.numeric and width <= WRAPPED,
            overflow="fold",
        )
    for row in table.groups[0].rows:
        cells = [Text(cell, _VERDICTS.get(cell, "")) for cell in row.cells]
        drawn.add_row(*cells, style=_WEIGHTS[row.weight])
    return drawn


def _with_curves(group: Group, ascii_only: bool) -> Group:
    """The group with a small curve in each cell of a trend."""
    levels = _ASCII if ascii_only else _BLOCKS

    def drawn(cell: str) -> str:
        curve = sparkline(cell.values, levels) if isinstance(cell, Trend) else ""
        return cell.replace(" to ", f" {curve} ") if curve else cell

    rows = (Row(tuple(map(drawn, row.cells)), row.weight) for row in group.rows)
    return Group(group.title, tuple(rows))


def sparkline(values: np.ndarray, levels: str = _BLOCKS) -> str:
    """Values ``[E]`` as at most ``TREND`` characters, from the lowest to the highest.

    Where there are more points than characters, a character shows the mean of its points. A
    character without a finite point is a space; a flat curve is drawn in the middle.
    """
    bins = np.array_split(values, min(len(values), TREND))
    finite = [points[np.isfinite(points)] for points in bins]
    shown = [float(points.mean()) if len(points) else None for points in finite]
    known = [value for value in shown if value is not None]
    low, span = min(known, default=0.0), float(np.ptp(known)) if known else 0.0
    steps = len(levels) - 1
    return "".join(
        " "
        if value is None
        else levels[round((value - low) / span * steps) if span else -(-steps // 2)]
        for value in shown
    )
