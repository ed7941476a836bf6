"""What a figure is made of: panels, which draw themselves on matplotlib's axes, with a caption."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fsl_sweep.orchestrator.report.figures.style import colour, dashes, label
from fsl_sweep.orchestrator.text.printed import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # so that a figure is described without loading matplotlib


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        title: what it is of; may be empty where a figure has one panel.
        draw: draws it. Artists carry their legend entry as a label.
        lines: lines of text along the left side, which make it higher.
        plane: whether it has a plane beside those lines.
        longest: characters of the longest label on the left side.
    """

    title: str
    draw: Callable[[Axes], None]
    lines: int = 0
    plane: bool = True
    longest: int = 5


@dataclass(frozen=True)
class Figure:
    """Panels with a caption and a legend in common.

    Attributes:
        name: which of the report's figures.
        caption: what it shows, in sentences.
        names: what the colours stand for, by their number.
        panels: at least one.
        shaped: whether the legend shows markers instead of lines.
        shared: the scales that all panels have in common.
    """

    name: str
    caption: str
    names: Sequence[str]
    panels: Sequence[Panel]
    shaped: bool = False
    shared: Literal["", "y", "xy"] = "xy"


def line(axes: Axes, x: Sequence[float], y: Sequence[float], number: int, name: str) -> None:
    """Draw a line in its colour; a single point is shown as a dot."""
    dot = "o" if len(x) == 1 else ""
    axes.plot(x, y, color=colour(number), ls=dashes(number), marker=dot, label=label(name))


def in_ems(axes: Axes) -> tuple[float, float]:
    """Return width and height of the plane in sizes of its font, as known before the layout."""
    em = axes.figure.dpi * float(axes.xaxis.label.get_fontsize()) / 72
    return float(axes.bbox.width) / em, float(axes.bbox.height) / em


def cut(text: str, most: int) -> str:
    """Cut a text to at most so many characters, on one line."""
    text = one_line(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
