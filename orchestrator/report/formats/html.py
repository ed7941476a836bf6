"""The report as one HTML file that needs nothing else: no script, no font, no image."""

from html import escape
from itertools import cycle

from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Group,
    Paragraph,
    Row,
    Section,
    Table,
)
from fsl_sweep.orchestrator.report.document.document import document
from fsl_sweep.orchestrator.report.figures.figures import Figure, figures
from fsl_sweep.orchestrator.report.figures.painter import drawing
from fsl_sweep.orchestrator.report.figures.style import LIGHT, SHAPES
from fsl_sweep.orchestrator.report.formats.page_style import CSS
from fsl_sweep.orchestrator.text.printed import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Even if a name could smuggle in a tag, a browser would load and run nothing."""

_TRADE_OFF = Section("trade-off", "Trade-off of BaseGen and NovelGen", ())
"""It has only figures, so that other formats lack it."""

LONG = 28
"""A line of a cell with more characters than these may break."""


def to_html(report: Report) -> str:
    """The report as a page, ending in a newline.

    The first line holds the title, which says whether the run is complete, and so does the first
    line that is shown. Readable on a phone and in dark mode; figures are drawings whose text can
    be selected. All names are escaped.
    """
    content = document(report)
    drawn = figures(report)
    sections = list(content.sections)
    if _TRADE_OFF.key in drawn:
        tables = ("strategies", "trust")
        sections.insert(sum(section.key in tables for section in sections), _TRADE_OFF)
    title = escaped(content.headline)
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<style>{CSS}</style></head><body><main>",
        f'<header class="{"good" if content.complete else "alarm"}"><h1>{title}</h1>',
        *map(_block, content.banner),
        "</header>",
        f"<nav>{' '.join(map(_link, sections))}</nav>",
    ]
    for section in sections:
        parts.append(f'<section id="{section.key}"><h2>{escaped(section.title)}</h2>')
        parts += map(_figure, drawn.get(section.key, ()))
        parts += [*map(_block, section.blocks), "</section>"]
    return "\n".join([*parts, "</main></body></html>"]) + "\n"


def _link(section: Section) -> str:
    return f'<a href="#{section.key}">{escaped(section.title)}</a>'


def _block(block: Block) -> str:
    match block:
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


def _figure(figure: Figure) -> str:
    marks = zip(figure.names, cycle(SHAPES if figure.shaped else "━"), strict=False)
    entries = "".join(
        f'<span><b style="color:var(--c{n % len(LIGHT)})">{mark}</b> {escaped(name)}</span>'
        for n, (name, mark) in enumerate(marks)
    )
    panels = "\n".join(
        f"<div><p>{escaped(panel.title)}</p>{drawing(panel)}</div>" for panel in figure.panels
    )
    return (
        f'<figure><div class="legend">{entries}</div><div class="panels">\n{panels}\n</div>'
        f"<figcaption>{escaped(figure.caption)}</figcaption></figure>"
    )


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
        f"<td{_look(column.numeric, cell)}>{escaped(cell).replace(chr(10), '<br>')}</td>"
        for column, cell in zip(table.columns, row.cells, strict=True)
    )
    return f'<tr class="{row.weight}">{cells}</tr>' if row.weight else f"<tr>{cells}</tr>"


def _look(numeric: bool, cell: str) -> str:
    """Numbers stand to the right; only long words break, or a phone would break them all."""
    if numeric:
        return _number(numeric)
    return ' class="long"' if max(map(len, cell.split("\n"))) > LONG else ""


def _number(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
