"""Drawings as text: one panel with two axes, lines and marks, without a library.

Equal numbers give equal bytes: coordinates have one decimal, and nothing depends on the day.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from fsl_sweep.orchestrator.report.style import COLOURS

WIDTH, HEIGHT = 340, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 40
LONGEST_TITLE = 42


@dataclass(frozen=True)
class Axis:
    """An axis from ``low`` to ``high``, which differ, with a label."""

    low: float
    high: float
    label: str

    @classmethod
    def around(cls, values: Iterable[float], label: str, margin: float = 0.05) -> "Axis":
        """An axis that holds all finite values, with some air; [0, 1] where there are none."""
        finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        air = (high - low) * margin or 0.5
        return cls(low - air, high + air, label)

    def ticks(self) -> list[float]:
        """Four to nine round values on the axis (the least number that has a round step)."""
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True)
class Panel:
    """A titled plane; ``top`` rows above it are kept free for signs."""

    title: str
    x: Axis
    y: Axis
    top: int = 0

    def across(self, value: float) -> float:
        """The horizontal place of a value."""
        share = (value - self.x.low) / (self.x.high - self.x.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """The vertical place of a value."""
        share = (value - self.y.low) / (self.y.high - self.y.low)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - self.ceiling)

    @property
    def ceiling(self) -> int:
        """Where the plane ends above."""
        return TOP + 11 * self.top

    def draw(self, content: Iterable[str]) -> str:
        """The whole drawing."""
        name = escape(self.title)
        shown = escape(_cut(self.title))
        return (
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">'
            f'<text class="title" x="10" y="18">{shown}<title>{name}</title></text>'
            f"{self._axes()}{''.join(content)}</svg>"
        )

    def _axes(self) -> str:
        floor, end = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = [f'<path class="grid" d="M{LEFT} {self.ceiling}V{floor}H{end}"/>']
        for value in self.y.ticks():
            at = _number(self.up(value))
            parts.append(f'<path class="grid" d="M{LEFT} {at}H{end}"/>')
            parts.append(_text("tick end", LEFT - 5, self.up(value) + 3.5, f"{_plain(value)}"))
        for value in self.x.ticks():
            parts.append(_text("tick middle", self.across(value), floor + 14, _plain(value)))
        parts.append(_text("middle", (LEFT + end) / 2, HEIGHT - 8, self.x.label))
        middle = _number((self.ceiling + floor) / 2)
        parts.append(
            f'<text class="middle" transform="translate(12 {middle}) rotate(-90)">'
            f"{escape(self.y.label)}</text>"
        )
        return "".join(parts)


def line(panel: Panel, xs: Sequence[float], ys: Sequence[float], style: str) -> str:
    """Points joined by lines, broken where one is no number; a lone point becomes a dot."""
    path, joined, lone = "", False, ""
    points = list(zip(xs, ys, strict=True))
    for x, y in points:
        finite = math.isfinite(x) and math.isfinite(y)
        if finite:
            at = f"{_number(panel.across(x))} {_number(panel.up(y))}"
            path += f"{'L' if joined else 'M'}{at}"
        joined = finite
    if len(points) == 1 and joined:
        lone = mark(panel, *points[0], 0, style.replace("line", "mark"))
    return f'<path class="{style}" d="{path}"/>{lone}' if path else ""


def upright(panel: Panel, x: float, style: str) -> str:
    """A vertical line through the whole plane."""
    at = _number(panel.across(x))
    return f'<path class="{style}" d="M{at} {panel.ceiling}V{HEIGHT - BOTTOM}"/>'


def level(panel: Panel, y: float, style: str) -> str:
    """A horizontal line through the whole plane."""
    return f'<path class="{style}" d="M{LEFT} {_number(panel.up(y))}H{WIDTH - RIGHT}"/>'


def mark(panel: Panel, x: float, y: float, shape: int, style: str, name: str = "") -> str:
    """A mark of one of several shapes, with a name that shows on pointing at it."""
    if not (math.isfinite(x) and math.isfinite(y)):
        return ""
    title = f"<title>{escape(name)}</title>" if name else ""
    path = _shape(panel.across(x), panel.up(y), shape)
    return f'<path class="{style}" d="{path}">{title}</path>'


def sign(panel: Panel, x: float, row: int, text: str) -> str:
    """A character above the plane, in one of its free rows."""
    return _text("pick", panel.across(x), panel.ceiling - 3 - 11 * row, text)


def swatch(number: int, *, shaped: bool) -> str:
    """The sample of a colour, and of a shape, for a legend."""
    path = _shape(11, 7, number) if shaped else "M1 7H21"
    style = "mark" if shaped else "line"
    return (
        f'<svg viewBox="0 0 22 14" aria-hidden="true">'
        f'<path class="{style} {colour(number)}" d="{path}"/></svg>'
    )


def colour(number: int) -> str:
    """The class of a colour; they begin again after the last."""
    return f"c{number % COLOURS}"


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
    return f'<text class="{style}" x="{_number(x)}" y="{_number(y)}">{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


def _plain(value: float) -> str:
    return f"{round(value, 9) + 0.0:g}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TITLE else text[: LONGEST_TITLE - 1] + "…"
