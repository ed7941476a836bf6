"""The report on a terminal, or as plain text where there is none."""

import io
import sys
import textwrap
from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.formats.forest_text import drawn
from fsl_sweep.orchestrator.text.console import SafeConsole
from fsl_sweep.orchestrator.text.printed import fold, say

PROBLEMS_SHOWN = 3
"""Of what is missing, and of what to be careful about, where only the answer is shown."""

PROSE = 100
"""Columns of sentences and of the first figure, where a line has so many."""

SENTENCE, CAUTION, PROBLEM = 600, 300, 150
"""Characters of a sentence of the answer, of a caution about all of it, and of what is missing:
enough for all but names and reasons without end."""

_TONES = {"": "", "note": "dim", "alarm": "red", "good": "green"}
_AS_WIDE_AS_NEEDED = 10**6


def show(
    report: Content,
    console: SafeConsole | None = None,
    *,
    full: bool = False,
    command: str = "",
) -> None:
    """Print the report on a terminal, or as ``to_text`` into a pipe or a file.

    Without ``full``, the answer only, in at most 60 lines of 80 columns; ``command`` is what to
    write before the options that show the rest, where that is not the command that printed it.
    """
    show_document(document(report, full), console, "" if full else _more(command))


def show_document(
    content: blocks.Document, console: SafeConsole | None = None, more: str = ""
) -> None:
    """Print a document on a terminal, or as ``text`` into a pipe or a file."""
    console = console or SafeConsole(file=sys.stdout)
    ascii_only = console.options.ascii_only
    if console.is_terminal and not ascii_only:
        _print(content, console, more)
        return
    plain = text(content, console.width if console.is_terminal else None, more).removesuffix("\n")
    say(plain.replace("─", "-") if ascii_only else plain, console.file)


def to_text(
    report: Content,
    width: int | None = None,
    *,
    full: bool = True,
    command: str = "",
) -> str:
    """Return the report, or only its answer, as ``text`` does."""
    return text(document(report, full), width, "" if full else _more(command))


def text(content: blocks.Document, width: int | None = None, more: str = "") -> str:
    """Return a document as plain text without colour codes.

    With a ``width``, no line is longer, and a wide table is printed in parts. With ``more``, which
    says how to see the rest, only the answer is printed, shortened, with the document's warnings.
    """
    file = io.StringIO()
    console = SafeConsole(
        file=file, width=width or _AS_WIDE_AS_NEEDED, no_color=True, force_terminal=False
    )
    _print(content, console, more)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _print(content: blocks.Document, console: SafeConsole, more: str) -> None:
    """Print the answer or all, tables as wide as the console and all else as wide as ``PROSE``."""
    prose, full = min(console.width, PROSE), not more
    look = "bold green" if content.complete else "bold white on red"
    parts: list[RenderableType] = [Text(_short(content.headline, full), look)]
    for block in content.banner:
        parts += _block(block if full else _shortened(block), console)
    if not full:
        warnings = blocks.Bullets(tuple(f"! {warning}" for warning in content.warnings))
        parts += _block(_shortened(warnings, CAUTION), console)
    parts.append(Text())
    for block in content.answer:
        parts += _answer(block, full, console)
    for section in (section for section in content.sections if full and section.blocks):
        title = Text(section.title, "bold")
        parts += [Text(), Rule(title, align="left", style="dim")]
        for block in section.blocks:
            parts += _block(block, console)
    if not full:
        parts.append(Text(more, "dim"))  # unindented, which sets it apart
    for part in parts:
        width = console.width if isinstance(part, Table) else prose
        uncut = getattr(part, "overflow", None) == "ignore"
        console.print(part, width=None if uncut else width, soft_wrap=uncut)


def _answer(block: blocks.Block, full: bool, console: SafeConsole) -> Iterable[RenderableType]:
    indent = 0 if isinstance(block, blocks.Forest) else 2
    for part in _block(block if full else _shortened(block), console, short=not full):
        yield Padding(part, (0, 0, 0, indent))


def _shortened(block: blocks.Block, most: int = PROBLEM) -> blocks.Block:
    """Keep the first few items of a list, and no text without end."""
    match block:
        case blocks.Bullets(items):
            left = len(items) - PROBLEMS_SHOWN
            more = [f"... and {left} more: --full"] if left > 0 else []
            shown = [_short(text, False, most) for text in items[:PROBLEMS_SHOWN]]
            return blocks.Bullets((*shown, *more))
        case blocks.Paragraph(text, tone):
            return blocks.Paragraph(_short(text, False), tone)
    return block


def _short(text: str, full: bool, most: int = SENTENCE) -> str:
    return text if full or len(text) <= most else f"{text[:most]}..."


def _more(command: str) -> str:
    """Say how to see the rest."""
    before = f"{command} " if command else ""
    return f"`{before}--full`: all tables and cautions. `--format html`: figures."


def _block(
    block: blocks.Block, console: SafeConsole, short: bool = False
) -> Iterable[RenderableType]:
    prose = min(console.width, PROSE) - 2
    match block:
        case blocks.Paragraph(text, "heading"):
            yield Text(f"\n{text}", "bold")
        case blocks.Paragraph(text, "command"):  # complete, so that it can be copied
            yield Text(f"  {text}", no_wrap=True, overflow="ignore")
        case blocks.Paragraph(text, tone):
            if tone == "note":
                yield Text()
            yield Text(fold(text, prose), _TONES[tone])
        case blocks.Bullets(items):
            for item in items:
                yield Padding(Text(fold(item, prose)), (0, 0, 0, 2))
        case blocks.Table(groups=groups):
            for group in groups:
                if group.title:
                    yield Text(f"\n{group.title}", "bold cyan")
                whole = blocks.Table(block.columns, (group,))
                widths, parts = blocks.in_parts(whole, console.width)
                for number, kept in enumerate(parts):
                    if number:
                        yield Text()
                    yield _table(whole, kept, widths)
        case blocks.Forest(note=note):
            yield Text()
            for line in drawn(block, prose + 2, short=short):
                yield Text(line, no_wrap=True, overflow="crop")
            yield Padding(Text(fold(note, prose), "dim"), (0, 0, 0, 2))


def _table(table: blocks.Table, kept: Sequence[int], widths: Sequence[int]) -> Table:
    """Draw some columns of a table, without a frame: they stay aligned as plain text."""
    drawn = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for at in kept:
        name, numeric = table.columns[at]
        drawn.add_column(
            Text("\n".join(textwrap.wrap(name, blocks.WRAPPED))),
            justify="right" if numeric else "left",
            no_wrap=numeric and widths[at] <= blocks.WRAPPED,
            overflow="fold",
        )
    for row in table.groups[0].rows:
        cells = (Text(row.cells[at], "bold" if at in row.bold else "") for at in kept)
        drawn.add_row(*cells, style="dim" if row.reference else "")
    return drawn
