"""The report as one HTML file that needs nothing else: no script, no font, no image."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import cycle

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
    Row,
    Table,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.figures.figures import Figure, Panel, figures
from fsl_sweep.orchestrator.report.figures.painter import drawing
from fsl_sweep.orchestrator.report.figures.style import LIGHT, SHAPES
from fsl_sweep.orchestrator.report.formats.page_style import CSS
from fsl_sweep.orchestrator.text.printed import counted, printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Even if a name could smuggle in a tag, a browser would load and run nothing."""

LONG = 28
"""A line of a cell with more characters than these may break."""

ITEMS_SHOWN = 5
"""What is missing from a run is folded where it is more than so many."""


def to_html(report: Content) -> str:
    """Return the report as a page, ending in a newline.

    The first line holds the title, which says whether the run is complete, and so does the first
    line that is shown.
    """
    return page(document(report), figures(report))


def page(content: Document, figured: Mapping[str, Sequence[Figure]] = {}) -> str:
    """Return a document as a page, ending in a newline.

    The answer comes first, the rest is folded unless the document is ``opened``; a link to
    ``#SECTION`` opens it, and on paper all is open. Readable on a phone and in dark mode; figures
    are drawings whose text can be selected. All names are escaped.

    Args:
        content: what to show.
        figured: figures by the key of their section; those of ``answer`` stand beside the answer.
    """
    title = escaped(content.headline)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<style>{CSS}</style></head><body class="fsl-sweep"><main>',
        *first_screen(content, figured.get("answer", ())),
    ]
    for section in content.sections:
        inside = [*map(figure_shown, figured.get(section.key, ())), *map(shown, section.blocks)]
        if inside:
            summary = f"<h2>{escaped(section.title)}</h2>"
            parts.append(folded(summary, inside, section.key, content.opened))
    return "\n".join([*parts, "</main></body></html>"]) + "\n"


def first_screen(content: Document, drawings: Sequence[Figure]) -> Iterable[str]:
    """Whether the run is complete, the answer, and its figure."""
    yield f'<header class="{"good" if content.complete else "alarm"}">'
    yield f"<h1>{escaped(content.headline)}</h1>"
    for block in content.banner:
        if isinstance(block, Bullets) and len(block.items) > ITEMS_SHOWN:
            yield folded(counted(len(block.items), "problem"), [shown(block)])
        else:
            yield shown(block)
    yield '</header>\n<div class="answer"><div>'
    yield from map(shown, content.answer)
    yield "</div>"
    yield from map(figure_shown, drawings)
    yield "</div>"


def folded(summary: str, inside: Iterable[str], key: str = "", opened: bool = False) -> str:
    """What a click opens, and a link to ``key``: browsers open what they have to scroll to."""
    name = f' id="{key}"' if key else ""
    head = f"<details{' open' if opened else ''}><summary>{summary}</summary>"
    return "\n".join([f'{head}<div class="inside"{name}>', *inside, "</div></details>"])


def shown(block: Block) -> str:
    """The block as an element."""
    match block:
        case Forest():
            return ""  # a figure shows it
        case Paragraph(text, tone):
            return f'<p class="{tone}">{escaped(text)}</p>' if tone else f"<p>{escaped(text)}</p>"
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{escaped(item)}</li>' for item in items)}</ul>"
        case Table(columns, groups):
            heads = "".join(
                f'<th scope="col"{_number(column.numeric)}>{escaped(column.name)}</th>'
                for column in columns
            )
            bodies = "\n".join(_group(block, group) for group in groups)
            return (
                f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead>\n'
                f"{bodies}</table></div>"
            )
        case Heading(text):
            return f"<h3>{escaped(text)}</h3>"
        case Lines(lines):
            return f'<pre class="wide" tabindex="0">{escaped(chr(10).join(lines))}</pre>'


def figure_shown(figure: Figure) -> str:
    """Return a figure with its caption."""
    marks = zip(figure.names, cycle(SHAPES if figure.shaped else "━"), strict=False)
    entries = "".join(
        f'<span><b style="color:var(--c{n % len(LIGHT)})">{mark}</b> {escaped(name)}</span>'
        for n, (name, mark) in enumerate(marks)
    )
    legend = f'<div class="legend">{entries}</div>' if entries else ""
    panels = "\n".join(map(_panel, figure.panels))
    return (
        f'<figure>{legend}<div class="panels">\n{panels}\n</div>'
        f"<figcaption>{escaped(figure.caption)}</figcaption></figure>"
    )


def _panel(panel: Panel) -> str:
    title = f"<p>{escaped(panel.title)}</p>" if panel.title else ""
    return f"<div>{title}{drawing(panel)}</div>"


def escaped(text: str) -> str:
    """Text that a page shows as it is: it opens no tag, and holds no control character."""
    return escape(printable(text))


def _group(table: Table, group: Group) -> str:
    title = ""
    if group.title:
        span = f'<th scope="rowgroup" colspan="{len(table.columns)}">'
        title = f'<tr class="group">{span}<span>{escaped(group.title)}</span></th></tr>\n'
    return f"<tbody>{title}{chr(10).join(_row(table, row) for row in group.rows)}</tbody>"


def _row(table: Table, row: Row) -> str:
    cells = "".join(
        f"<td{_look(column.numeric, cell)}>{escaped(cell)}</td>"
        for column, cell in zip(table.columns, row.cells, strict=True)
    )
    return f'<tr class="reference">{cells}</tr>' if row.reference else f"<tr>{cells}</tr>"


def _look(numeric: bool, cell: str) -> str:
    """Numbers stand to the right; only long words break, or a phone would break them all."""
    return _number(True) if numeric else ' class="long"' if len(cell) > LONG else ""


def _number(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
