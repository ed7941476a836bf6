"""Panels drawn as text, without a library, for the HTML report.

Equal numbers give equal bytes: coordinates have one decimal, and nothing depends on the day.
"""

import math
from html import escape

from fsl_sweep.orchestrator.printed import printable
from fsl_sweep.orchestrator.report.drawing import (
    Line,
    Mark,
    Panel,
    Part,
    Rule,
    Sign,
    colour,
    cut,
    tick_text,
)

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 40
WIDEST_TITLE = WIDTH - 20


def escaped(text: str) -> str:
    """Text that a page shows as it is: it opens no tag, and holds no control character."""
    return escape(printable(text))


def drawn(panel: Panel) -> str:
    """The whole drawing."""
    name, shown = escaped(panel.title), escaped(cut(panel.title, WIDEST_TITLE))
    content = "".join(_part(panel, part) for part in panel.parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">'
        f'<text class="title" x="10" y="18">{shown}<title>{name}</title></text>'
        f"{_axes(panel)}{content}</svg>"
    )


def swatch(number: int, *, shaped: bool) -> str:
    """The sample of a colour, and of a shape, for a legend."""
    path = _shape(11, 7, number) if shaped else "M1 7H21"
    style = "mark" if shaped else "line"
    return (
        f'<svg viewBox="0 0 22 14" aria-hidden="true">'
        f'<path class="{style} c{colour(number)}" d="{path}"/></svg>'
    )


def across(panel: Panel, value: float) -> float:
    """The horizontal place of a value."""
    return LEFT + panel.x.share(value) * (WIDTH - LEFT - RIGHT)


def up(panel: Panel, value: float) -> float:
    """The vertical place of a value."""
    return HEIGHT - BOTTOM - panel.y.share(value) * (HEIGHT - BOTTOM - _ceiling(panel))


def _ceiling(panel: Panel) -> int:
    """Where the plane ends above."""
    return TOP + 11 * panel.top


def _axes(panel: Panel) -> str:
    floor, end, ceiling = HEIGHT - BOTTOM, WIDTH - RIGHT, _ceiling(panel)
    parts = [f'<path class="grid" d="M{LEFT} {ceiling}V{floor}H{end}"/>']
    for value in panel.y.ticks():
        at = up(panel, value)
        parts.append(f'<path class="grid" d="M{LEFT} {_number(at)}H{end}"/>')
        parts.append(_text("tick end", LEFT - 5, at + 3.5, tick_text(value)))
    for value in panel.x.ticks():
        parts.append(_text("tick middle", across(panel, value), floor + 14, tick_text(value)))
    parts.append(_text("middle", (LEFT + end) / 2, HEIGHT - 8, panel.x.label))
    middle = _number((ceiling + floor) / 2)
    parts.append(
        f'<text class="middle" transform="translate(12 {middle}) rotate(-90)">'
        f"{escaped(panel.y.label)}</text>"
    )
    return "".join(parts)


def _part(panel: Panel, part: Part) -> str:
    match part:
        case Rule(value, kind, upright=True):
            at = _number(across(panel, value))
            return f'<path class="{kind}" d="M{at} {_ceiling(panel)}V{HEIGHT - BOTTOM}"/>'
        case Rule(value, kind):
            at = _number(up(panel, value))
            return f'<path class="{kind}" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>'
        case Line():
            return _line(panel, part)
        case Mark():
            return _mark(panel, part, part.number)
        case Sign(x, row, text):
            return _text("pick", across(panel, x), _ceiling(panel) - 3 - 11 * row, text)


def _line(panel: Panel, line: Line) -> str:
    """A lone point becomes a dot."""
    path, joined = "", False
    points = list(zip(line.xs, line.ys, strict=True))
    for x, y in points:
        finite = math.isfinite(x) and math.isfinite(y)
        if finite:
            at = f"{_number(across(panel, x))} {_number(up(panel, y))}"
            path += f"{'L' if joined else 'M'}{at}"
        joined = finite
    if not path:
        return ""
    style = "front" if line.number is None else f"line c{colour(line.number)}"
    dot = len(points) == 1 and line.number is not None
    lone = _mark(panel, Mark(*points[0], line.number or 0), 0) if dot else ""
    return f'<path class="{style}" d="{path}"/>{lone}'


def _mark(panel: Panel, mark: Mark, shape: int) -> str:
    """A mark's name shows on pointing at it."""
    if not (math.isfinite(mark.x) and math.isfinite(mark.y)):
        return ""
    title = f"<title>{escaped(mark.name)}</title>" if mark.name else ""
    path = _shape(across(panel, mark.x), up(panel, mark.y), shape)
    style = f"mark c{colour(mark.number)}{' kept' if mark.kept else ''}"
    return f'<path class="{style}" d="{path}">{title}</path>'


def _shape(x: float, y: float, number: int) -> str:
    """A circle, square, triangle or diamond; another order when the colours begin again."""
    at = f"M{_number(x)} {_number(y)}"
    shapes = (
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "m-3.5 -3.5h7v7h-7z",
        "m0 -4.5l4.5 8h-9z",
        "m0 -5l5 5l-5 5l-5 -5z",
        "m0 4.5l4.5 -8h-9z",
    )
    return at + shapes[number % len(shapes)]


def _text(style: str, x: float, y: float, text: str) -> str:
    return f'<text class="{style}" x="{_number(x)}" y="{_number(y)}">{escaped(text)}</text>'


def _number(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"
