"""The report as Markdown, in the dialect of GitHub, whose tables it needs."""

import re
from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Document,
    Forest,
    Group,
    Heading,
    Lines,
    Paragraph,
    Table,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.formats.forest_text import drawn
from fsl_sweep.orchestrator.text.printed import one_line, printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~#!$])")
_OPENING = re.compile(r"^([-+]|\d+[.)])(?=\s|$)")

WIDTH = 80
"""Characters of a line of a forest plot: pages of GitHub show them without scrolling."""


def to_markdown(report: Content) -> str:
    """Return the report as Markdown text, ending in a newline.

    The first line says whether the run is complete, and the answer comes next.
    """
    return markdown(document(report))


def markdown(content: Document) -> str:
    """Return a document as Markdown text, ending in a newline.

    Names are escaped: none of them can open a tag, a link or a table cell.
    """
    parts = [f"# {escaped(content.headline)}", *map(_block, content.banner)]
    parts += map(_block, content.answer)
    for section in content.sections:
        if section.blocks:
            parts += [f"## {escaped(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    one_line = " ".join(printable(text).split())
    safe = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _SPECIAL.sub(r"\\\1", safe)
    # Bare addresses would become links.
    safe = re.sub(r"(?i)\b(https?|ftp):", r"\1&#58;", safe)
    safe = re.sub(r"(?i)\bwww\.", lambda found: found[0][:-1] + "&#46;", safe)
    return _OPENING.sub(lambda found: found[1][:-1] + "\\" + found[1][-1], safe)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text, tone):
            return f"**{escaped(text)}**" if tone == "alarm" else escaped(text)
        case Bullets(items):
            return "\n".join(f"- {escaped(item)}" for item in items)
        case Forest(note=note):
            return f"{_code(drawn(block, WIDTH))}\n\n{escaped(note)}"
        case Table(_, groups):
            return "\n\n".join("\n\n".join(_group(block, group)) for group in groups)
        case Heading(text):
            return f"### {escaped(text)}"
        case Lines(lines):
            return _code(lines)


def _code(lines: Sequence[str]) -> str:
    """A block of code, within a fence that is longer than any in the lines."""
    text = "\n".join(map(one_line, lines))
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _group(table: Table, group: Group) -> Iterable[str]:
    if group.title:
        yield f"### {escaped(group.title)}"
    head = [escaped(column.name) for column in table.columns]
    rule = ["---:" if column.numeric else ":---" for column in table.columns]
    rows = [[*map(escaped, row.cells)] for row in group.rows]
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
