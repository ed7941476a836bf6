"""The report as one HTML file that needs nothing else, and as a part of a notebook."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import cycle, islice

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.report.content import Content
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.document.document import document, headline, progress
from fsl_sweep.orchestrator.report.figures.figures import Figure, figures
from fsl_sweep.orchestrator.report.figures.painter import drawing
from fsl_sweep.orchestrator.report.figures.style import LIGHT, SHAPES
from fsl_sweep.orchestrator.report.formats.page_style import CSS
from fsl_sweep.orchestrator.selection.completeness import completeness_of
from fsl_sweep.orchestrator.text.printed import counted, printable

MORE = "Further figures: <code>run.plot</code>. A page to send: <code>to_html(report)</code>."
HOW = (
    "<code>run.report()</code>: the answer. <code>run.records()</code>, "
    "<code>run.selections()</code>: data frames."
)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Even if a name could smuggle in a tag, a browser would load and run nothing."""

LONG = 28
"""A line of a cell with more characters than these may break."""

OPEN = ("cautions",)
"""Sections that are not collapsed: nobody clicks to learn what may be wrong."""

PLUS_MINUS = re.compile(r"(?<![\w+-])\+-(?![\w+-])")
"""As other formats write ±; within a name it stays."""

ITEMS_SHOWN = 5
"""What is missing from a run is collapsed where it is more than so many."""


def to_html(report: Content) -> str:
    """Return the report as a page, ending in a newline.

    The first line holds the title, which says whether the run is complete, and the answer's first
    sentence.
    """
    return page(document(report), figures(report))


def page(content: blocks.Document, figured: Mapping[str, Sequence[Figure]] = {}) -> str:
    """Return a document as a page, ending in a newline.

    The answer comes first, the rest is collapsed, except for cautions, and unless the document is
    ``opened``; a link to ``#SECTION`` opens it, and on paper all is open. Readable on a phone and
    in dark mode; figures are drawings whose text can be selected. All names are escaped.

    Args:
        content: what to show.
        figured: figures by the key of their section; those of ``answer`` stand beside the answer.
    """
    answer = (b.text for b in content.answer if isinstance(b, blocks.Paragraph) and not b.tone)
    title = escaped(". ".join((content.headline, *islice(answer, 1))))
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<style>{CSS}</style></head><body class="fsl-sweep"><main>',
        *body(content, figured, linked=True),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def report_shown(report: Content) -> str:
    """Show the answer with its figure, and the tables collapsed; other figures take a call."""
    answer = {"answer": figures(report).get("answer", [])}
    return _part([*body(document(report), answer), f'<p class="note">{MORE}</p>'])


def document_shown(content: blocks.Document, figured: Mapping[str, Sequence[Figure]]) -> str:
    """Show a document with its figures, the sections collapsed."""
    return _part(body(content, figured))


def run_shown(
    name: str,
    histories: Sequence[TrialHistory],
    protocols: Sequence[PlannedProtocol],
    proposed: Mapping[str, tuple[int, int]],
) -> str:
    """Show a run: how much of it is done, its protocols, and how to go on."""
    completeness = completeness_of(histories, 0, proposed=proposed)
    texts = tuple(f"protocol {p.name}: {p.protocol.described}" for p in protocols)
    content = blocks.Document(
        headline=headline(name, completeness.complete),
        answer=(blocks.Bullets(texts),) if texts else (),
        banner=tuple(progress(completeness)),
        complete=completeness.complete,
    )
    return _part([*body(content), f'<p class="note">{HOW}</p>'])


def _part(parts: Iterable[str]) -> str:
    return "\n".join(
        [f'<div class="fsl-sweep"><style>{CSS}</style><main>', *parts, "</main></div>"]
    )


def body(
    content: blocks.Document, figured: Mapping[str, Sequence[Figure]] = {}, linked: bool = False
) -> Iterable[str]:
    """Show the banner, the answer and its figures, and the sections, which links open."""
    yield f'<header class="{"good" if content.complete else "alarm"}">'
    yield f"<h1>{escaped(content.headline)}</h1>"
    for block in content.banner:
        if isinstance(block, blocks.Bullets) and len(block.items) > ITEMS_SHOWN:
            yield collapsed(counted(len(block.items), "problem"), [shown(block)])
        else:
            yield shown(block)
    yield '</header>\n<div class="answer"><div>'
    yield from map(shown, content.answer)
    yield "</div>"
    yield from _figures("answer", figured)
    yield "</div>"
    for section in content.sections:
        inside = [*_figures(section.key, figured), *map(shown, section.blocks)]
        if inside:
            title = f"<h2>{escaped(section.title)}</h2>"
            key = section.key if linked else ""
            opened = linked and (content.opened or section.key in OPEN)
            yield collapsed(title, inside, key, opened)
    if linked and content.words:
        words = (f"<dt>{escaped(w)}</dt><dd>{escaped(m)}</dd>" for w, m in content.words.items())
        yield f"<footer><h2>Words</h2><dl>{''.join(words)}</dl></footer>"


def collapsed(summary: str, inside: Iterable[str], key: str = "", opened: bool = False) -> str:
    """Show what a click opens, and a link to ``key``: browsers open what they scroll to."""
    name = f' id="{key}"' if key else ""
    parts = (
        f"<details{' open' if opened else ''}><summary>{summary}</summary>"
        f'<div class="inside"{name}>',
        *inside,
        "</div></details>",
    )
    return "\n".join(parts)


def shown(block: blocks.Block) -> str:
    """Show the block as an element."""
    match block:
        case blocks.Forest():
            return ""  # a figure shows it
        case blocks.Paragraph(text, "heading"):
            return f"<h3>{escaped(text)}</h3>"
        case blocks.Paragraph(text, "command"):
            return f'<pre class="wide" tabindex="0">{escaped(text)}</pre>'
        case blocks.Paragraph(text, tone):
            return f'<p class="{tone}">{escaped(text)}</p>' if tone else f"<p>{escaped(text)}</p>"
        case blocks.Bullets(items):
            return f"<ul>{''.join(f'<li>{escaped(item)}</li>' for item in items)}</ul>"
        case blocks.Table(columns, groups):
            heads = "".join(
                f'<th scope="col"{_number(numeric)}>{escaped(name)}</th>'
                for name, numeric in columns
            )
            bodies = "\n".join(_group(block, group) for group in groups)
            return (
                f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead>\n'
                f"{bodies}</table></div>"
            )


def _figures(key: str, figured: Mapping[str, Sequence[Figure]]) -> Iterable[str]:
    """Show the figures of a section; the ids of their drawings begin with its key."""
    for number, figure in enumerate(figured.get(key, ())):
        yield _figure(figure, f"{key}-{number}")


def _figure(figure: Figure, key: str) -> str:
    about = figure.caption.partition(". ")[0].removesuffix(".")
    marks = zip(figure.names, cycle(SHAPES if figure.shaped else "━"), strict=False)
    entries = "".join(
        f'<span><b style="color:var(--c{n % len(LIGHT)})">{mark}</b> {escaped(name)}</span>'
        for n, (name, mark) in enumerate(marks)
    )
    legend = f'<div class="legend">{entries}</div>' if entries else ""
    panels = "\n".join(
        f"<div>{f'<p>{escaped(panel.title)}</p>' if panel.title else ''}"
        f"{drawing(panel, about, f'{key}-{number}-')}</div>"
        for number, panel in enumerate(figure.panels)
    )
    return (
        f'<figure>{legend}<div class="panels">\n{panels}\n</div>'
        f"<figcaption>{escaped(figure.caption)}</figcaption></figure>"
    )


def escaped(text: str) -> str:
    """Return text that a page shows as it is: without tags and control characters; +- as ±."""
    return escape(PLUS_MINUS.sub("±", printable(text)))


def _group(table: blocks.Table, group: blocks.Group) -> str:
    title = ""
    if group.title:
        span = f'<th scope="rowgroup" colspan="{len(table.columns)}">'
        title = f'<tr class="group">{span}<span>{escaped(group.title)}</span></th></tr>\n'
    return f"<tbody>{title}{chr(10).join(_row(table, row) for row in group.rows)}</tbody>"


def _row(table: blocks.Table, row: blocks.Row) -> str:
    cells = "".join(
        f"<td{_look(numeric, cell)}>{escaped(cell)}</td>"
        for (_, numeric), cell in zip(table.columns, row.cells, strict=True)
    )
    return f'<tr class="reference">{cells}</tr>' if row.reference else f"<tr>{cells}</tr>"


def _look(numeric: bool, cell: str) -> str:
    """Set numbers to the right; only long words break, or a phone would break them all."""
    return _number(True) if numeric else ' class="long"' if len(cell) > LONG else ""


def _number(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
