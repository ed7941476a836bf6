"""A figure with all of its panels on one sheet, as wide as the column of a paper.

This imports matplotlib: import it where something is painted.
"""

import io
import math
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel, cut
from fsl_sweep.orchestrator.report.figures.style import INK, RULES, SOFT
from fsl_sweep.orchestrator.text.printed import one_line

COLUMN = 8.5
"""Width in cm of a paper's column."""

LEAST_PANEL = 4.0
"""Width in cm of the narrowest panel that stands beside another."""

SCREEN = 120
"""Dots per inch in a notebook."""

LONGEST, LOWEST = 22.0, 0.9
"""Height in cm that panels are made lower for; in inches, that of the lowest plane."""

SIZE = 8
"""Of the font, in points."""

_INCH = 2.54
_LINE = 1.65 * SIZE / 72

_SETTINGS: dict[Any, Any] = {
    "text.parse_math": False,  # names are no formulas
    "text.color": INK,
    "axes.axisbelow": True,
    "axes.edgecolor": RULES,
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    # Near to what the layout makes of it, so that panels know how large they will be.
    "figure.subplot.left": 0.12,
    "figure.subplot.right": 0.99,
    "figure.subplot.bottom": 0.1,
    "figure.subplot.top": 0.95,
    "figure.subplot.wspace": 0.1,
    "grid.color": RULES,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,  # TrueType, which publishers ask for
    "svg.hashsalt": "fsl-sweep",
    "xtick.color": RULES,
    "xtick.labelcolor": SOFT,
    "ytick.color": RULES,
    "ytick.labelcolor": SOFT,
}
_SIZED = (
    *("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"),
    *("xtick.labelsize", "ytick.labelsize"),
)
METADATA = {
    "svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
    "png": {"Software": None},
    "pdf": dict.fromkeys(("Creator", "CreationDate", "Producer")),
}


@contextmanager
def settings(size: float = SIZE, **more: Any) -> Iterator[None]:
    """Apply these settings and no others, whatever the user configured; ``size`` in points."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        wanted: Any = _SETTINGS | dict.fromkeys(_SIZED, size) | more
        matplotlib.rcParams.update(wanted)
        # Letters that the font lacks are shown as boxes, as they are elsewhere.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


class Sheet(Canvas):
    """A matplotlib figure that a notebook shows, and that is saved as it was drawn."""

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as matplotlib does, with embedded fonts, whatever the user configured."""
        with settings():
            super().savefig(fname, **options)

    def saved(self, form: str, dpi: float | None = None) -> bytes:
        """Return the sheet as a file: equal figures give equal bytes."""
        file = io.BytesIO()
        self.savefig(file, format=form, metadata=METADATA[form], dpi=dpi or self.dpi)
        return file.getvalue()

    def _repr_png_(self) -> bytes:
        return self.saved("png", dpi=SCREEN)


def sheet(figure: Figure, width: float = COLUMN, dpi: float = 300) -> Sheet:
    """Paint all panels of a figure with its legend, ``width`` in cm."""
    panels, inches, columns = figure.panels, width / _INCH, _columns(figure, width)
    titles, rows = _titles(figure, width), math.ceil(len(panels) / columns)
    wanted = max(_height(panel, inches / columns) for panel in panels)
    height = max(_least(figure, width), min(wanted, LONGEST / _INCH / rows))
    with settings():
        canvas = Sheet((inches, rows * height), dpi=dpi, layout="constrained")
        canvas.get_layout_engine().set(w_pad=0.03, h_pad=0.03)  # pyright: ignore
        grid = canvas.subplots(rows, columns, squeeze=False).ravel()
        for i, axes in enumerate(grid):
            if i >= len(panels):
                axes.remove()
                continue
            panels[i].draw(axes)
            if titles[i]:
                axes.set_title(titles[i], loc="left")
            _share(axes, figure.shared, left=i % columns == 0, last=i + columns >= len(panels))
        add_legend(canvas, inches)
    return canvas


def pages(figure: Figure, width: float) -> list[Figure]:
    """Split a figure into several where a page of a paper has no room for all of its panels.

    ``width`` in cm.
    """
    each = max(1, int(LONGEST / _INCH / _least(figure, width))) * _columns(figure, width)
    starts = range(0, len(figure.panels), each)
    return [replace(figure, panels=figure.panels[at : at + each]) for at in starts]


def _columns(figure: Figure, width: float) -> int:
    return min(len(figure.panels), max(1, int(width / LEAST_PANEL)))


def _titles(figure: Figure, width: float) -> list[str]:
    """Break titles into lines that a panel has room for."""
    room = int((width / _INCH / _columns(figure, width) * 72 - 36) / (0.6 * SIZE))
    return ["\n".join(textwrap.wrap(one_line(p.title), room)[:3]) for p in figure.panels]


def _least(figure: Figure, width: float) -> float:
    """Return the inches of the lowest row of panels that can be read, with titles and scales."""
    titles = max(title.count("\n") + 1 if title else 0 for title in _titles(figure, width))
    beside = max(panel.lines for panel in figure.panels) + titles
    return _LINE * beside + 0.5 + (LOWEST if any(p.plane for p in figure.panels) else 0)


def _height(panel: Panel, width: float) -> float:
    """Return the inches of a panel with its scale and a title, ``width`` inches wide."""
    plane = min(0.6 * width, 3.0) if panel.plane else 0
    return plane + _LINE * (panel.lines + 2 * bool(panel.title)) + 0.5


def _share(axes: Axes, shared: str, left: bool, last: bool) -> None:
    """Leave scales that panels have in common at the left and at the bottom only."""
    if "y" in shared and not left:
        axes.tick_params(labelleft=False)
        axes.set_ylabel("")
    if "x" in shared and not last:
        axes.tick_params(labelbottom=False)
        axes.set_xlabel("")


def add_legend(canvas: Canvas, width: float) -> None:
    """Add the labels of the artists below the panels, in a taller figure."""
    entries: dict[str, Any] = {}
    for axes in canvas.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(name, handle)
    if not entries:
        return
    size = matplotlib.rcParams["font.size"]
    names = [cut(name, 60) for name in entries]
    each = (max(map(len, names)) * 0.56 + 4) * size / 72
    columns = max(1, min(len(names), int(width / each)))
    rows = math.ceil(len(names) / columns)
    canvas.set_figheight(canvas.get_figheight() + 1.45 * size / 72 * rows)
    place = {"loc": "outside lower left", "ncols": columns, "labelspacing": 0.25}
    canvas.legend([*entries.values()], names, columnspacing=1.0, borderpad=0.2, **place)
