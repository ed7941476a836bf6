"""The report as Markdown, in the dialect of GitHub, whose tables it needs."""

import re
from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document import blocks
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
    return markdown(document(report.unplaced()))


def markdown(content: blocks.Document) -> str:
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
    """Return text that Markdown shows as it is, on one line."""
    safe = " ".join(printable(text).split())
    safe = safe.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    safe = _SPECIAL.sub(r"\\\1", safe)
    # Bare addresses would become links.
    safe = re.sub(r"(?i)\b(https?|ftp):", r"\1&#58;", safe)
    safe = re.sub(r"(?i)\bwww\.", lambda match: match[0][:-1] + "&#46;", safe)
    return _OPENING.sub(lambda match: match[1][:-1] + "\\" + match[1][-1], safe)


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Paragraph(text, "heading"):
            return f"### {escaped(text)}"
        case blocks.Paragraph(text, "command"):
            return _code([text])
        case blocks.Paragraph(text, tone):
            return f"**{escaped(text)}**" if tone == "alarm" else escaped(text)
        case blocks.Bullets(items):
            return "\n".join(f"- {escaped(item)}" for item in items)
        case blocks.Forest(note=note):
            return f"{_code(drawn(block, WIDTH))}\n\n{escaped(note)}"
        case blocks.Table(_, groups):
            return "\n\n".join("\n\n".join(_group(block, group)) for group in groups)


def _code(lines: Sequence[str]) -> str:
    """Fence lines as a block of code, by a fence that is longer than any in them."""
    text = "\n".join(map(one_line, lines))
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _group(table: blocks.Table, group: blocks.Group) -> Iterable[str]:
    if group.title:
        yield f"### {escaped(group.title)}"
    head = [escaped(name) for name, _ in table.columns]
    rule = ["---:" if numeric else ":---" for _, numeric in table.columns]
    rows = [
        [f"**{escaped(c)}**" if at in row.bold else escaped(c) for at, c in enumerate(row.cells)]
        for row in group.rows
    ]
    yield "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
