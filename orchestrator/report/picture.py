"""Panels painted as pictures, for programs that show no drawings: TensorBoard, slides.

Equal panels give equal bytes with one version of matplotlib, whatever its user configured.
"""

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.report.drawing import (
    Axis,
    Figure,
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
from fsl_sweep.orchestrator.report.style import INK, LIGHT, RULES, SOFT

if TYPE_CHECKING:
    # Loaded where something is painted: it takes longer than a whole report on the terminal.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D

WIDTH, HEIGHT = 640, 440
"""Pixels of a picture without its legend."""

LEFT, RIGHT, TOP, BOTTOM = 66, 16, 34, 54
"""Pixels around the plane, for its title, labels and ticks."""

DPI = 100
LEGEND_ROW, SIGN_ROW = 19, 15
WIDEST_NAME, WIDEST_TITLE = 530, 460
_SHAPES = "os^Dv"


def picture(figure: Figure, panel: Panel) -> tuple[bytes, int, int]:
    """A panel with its own legend.

    Returns:
        PNG bytes, width and height in pixels.
    """
    with _plain_matplotlib():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas

        entries = _entries(figure, panel)
        columns = _columns([name for _, name in entries])
        height = HEIGHT + LEGEND_ROW * math.ceil(len(entries) / columns)
        canvas = Canvas((WIDTH / DPI, height / DPI), DPI)
        axes = canvas.add_axes(_place(panel, height))
        _plane(axes, panel)
        for part in panel.parts:
            _paint(axes, part)
        _legend(canvas, entries, columns)
        file = io.BytesIO()
        FigureCanvasAgg(canvas).print_png(file, metadata={"Software": None})
    return file.getvalue(), WIDTH, height


@contextmanager
def _plain_matplotlib() -> Iterator[None]:
    """Defaults of matplotlib's own, and no formulas in names; the user's settings come back."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"text.parse_math": False, "font.size": 10})
        # Letters that the font lacks are shown as boxes, as they are elsewhere.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def _plane(axes: "Axes", panel: Panel) -> None:
    pad = 7 + SIGN_ROW * panel.top * 72 / DPI
    axes.set_title(cut(panel.title, WIDEST_TITLE), loc="left", pad=pad, size=11, color=INK)
    for axis, described in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        axis.set_label_text(described.label, color=INK)
        ticks = described.ticks()
        axis.set_ticks(ticks, [tick_text(value) for value in ticks])
    axes.set_xlim(*_ends(panel.x))
    axes.set_ylim(*_ends(panel.y))
    axes.tick_params(color=RULES, labelcolor=SOFT)
    axes.grid(axis="y", color=RULES, linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(RULES)


def _ends(axis: Axis) -> tuple[float, float]:
    return axis.low, axis.high


def _place(panel: Panel, height: int) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of the plane, as shares of the picture's."""
    below = BOTTOM + height - HEIGHT
    tall = height - below - TOP - SIGN_ROW * panel.top
    return LEFT / WIDTH, below / height, (WIDTH - LEFT - RIGHT) / WIDTH, tall / height


def _paint(axes: "Axes", part: Part) -> None:
    match part:
        case Rule(value, kind, upright):
            through = axes.axvline if upright else axes.axhline
            through(value, color=SOFT, linewidth=0.9, linestyle="-" if kind == "zero" else ":")
        case Line(xs, ys, int(number)):
            lone = "o" if len(xs) == 1 else ""
            axes.plot(xs, ys, color=_colour(number), linewidth=1.7, marker=lone)
        case Line(xs, ys):
            axes.plot(xs, ys, color=INK, linewidth=1.2, linestyle="--")
        case Mark(x, y, number, kept):
            edge = INK if kept else _colour(number)
            axes.plot(x, y, _SHAPES[number % len(_SHAPES)], color=_colour(number), mec=edge, ms=7)
        case Sign(x, row, text):
            place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axes.annotate(
                text, (x, 1), (0, 3 + row * SIGN_ROW * 72 / DPI), ha="center", size=9, **place
            )


def _entries(figure: Figure, panel: Panel) -> list[tuple["Line2D", str]]:
    """Samples of what the panel uses with their names; signs have names alone."""
    from matplotlib.lines import Line2D

    used = {part.number for part in panel.parts if isinstance(part, (Line, Mark))}
    signs = {part.text for part in panel.parts if isinstance(part, Sign)}
    entries: list[tuple[Line2D, str]] = []
    for number, name in enumerate(figure.names):
        if number in used:
            shape = _SHAPES[number % len(_SHAPES)] if figure.shaped else ""
            line = "none" if figure.shaped else "-"
            sample = Line2D([], [], color=_colour(number), marker=shape, linestyle=line)
            entries.append((sample, name))
    blank = Line2D([], [], linestyle="none")
    return [*entries, *((blank, f"{s}  {name}") for name, s in figure.signs.items() if s in signs)]


def _legend(canvas: "Canvas", entries: Sequence[tuple["Line2D", str]], columns: int) -> None:
    """Below the plane."""
    if not entries:
        return
    samples = [sample for sample, _ in entries]
    legend = canvas.legend(
        samples,
        ["name"] * len(samples),
        loc="lower left",
        bbox_to_anchor=(LEFT / WIDTH, 0),
        borderaxespad=0.2,
        ncols=columns,
        frameon=False,
        fontsize=9,
        labelcolor=INK,
    )
    # Set afterwards: a label that begins with an underscore would be taken for a private one.
    for text, (_, name) in zip(legend.get_texts(), entries, strict=True):
        text.set_text(cut(name, WIDEST_NAME))


def _columns(names: Sequence[str]) -> int:
    """How many names stand side by side."""
    longest = max(map(len, names), default=0)
    return 1 if longest > 30 else 2 if longest > 16 else 4


def _colour(number: int) -> str:
    return LIGHT[colour(number)]
