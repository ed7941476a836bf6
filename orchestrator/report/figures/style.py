"""Colours and marks of the figures, in light and in dark."""

LIGHT = ("#0068a8", "#c8500a", "#008560", "#9a3d8c", "#8a6a00", "#3f6fd8", "#5c5c5c", "#a01848")
DARK = ("#5cb8f0", "#ff9a5c", "#40d0a0", "#e294d6", "#e2c64c", "#9db8ff", "#c0c0c0", "#ff86a8")
INK, SOFT, RULES = "#1b1f24", "#5d6670", "#d5dae0"
MARKERS, SHAPES = "os^Dv", "●■▲◆▼"
"""Markers of matplotlib, and the characters that look like them in the page's legends."""


def colour(number: int) -> str:
    """Return the colour with this number; they begin again after the last."""
    return LIGHT[number % len(LIGHT)]
