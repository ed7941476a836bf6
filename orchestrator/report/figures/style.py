"""Colours, marks and labels of the figures, in light and in dark."""

from html import escape

from fsl_sweep.orchestrator.text.printed import one_line

LIGHT = ("#0068a8", "#c8500a", "#008560", "#9a3d8c", "#8a6a00", "#3f6fd8", "#5c5c5c", "#a01848")
DARK = ("#5cb8f0", "#ff9a5c", "#40d0a0", "#e294d6", "#e2c64c", "#9db8ff", "#c0c0c0", "#ff86a8")
INK, SOFT, RULES = "#1b1f24", "#5d6670", "#d5dae0"
MARKERS, SHAPES = "os^Dv", "●■▲◆▼"
"""Markers of matplotlib, and the characters that look like them in the page's legends."""
DASHES = ((0, (1, 1.2)), (0, (4, 1.5)), "-", (0, (4, 1.2, 1, 1.2)))
"""Lines that can be told apart in print without colours, by their number."""


def colour(number: int) -> str:
    """Return the colour with this number; they begin again after the last."""
    return LIGHT[number % len(LIGHT)]


def dashes(number: int) -> "str | tuple[int, tuple[float, ...]]":
    """Return how the line with this number is dashed."""
    return DASHES[number % len(DASHES)]


def marker(number: int) -> str:
    """Return the marker with this number."""
    return MARKERS[number % len(MARKERS)]


def label(name: str) -> str:
    """Return a name as a label, which would be hidden if it began with an underscore."""
    return f" {one_line(name)}"


def tooltip(text: str) -> str:
    """Return text as HTML, which matplotlib escapes once more as an attribute."""
    return escape(one_line(text))
