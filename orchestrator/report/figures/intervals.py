"""Forest plots: a row for each interval, in groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from fsl_sweep.orchestrator.report.figures.panel import Panel, cut, label, tooltip
from fsl_sweep.orchestrator.report.figures.style import INK, RULES, SOFT, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 26
"""Characters of a row's name; what is cut is in the tooltip."""

_BAR = 7
"""Points of a narrow interval's height: more than its mark's, which hides no bar, however short."""

_AT_ROW: Any = {"xycoords": ("axes fraction", "data"), "va": "center"}
"""Of a text: at a share of the width, and at a row."""


@dataclass(frozen=True)
class Row:
    """One interval, in percent or percentage points.

    Attributes:
        name: what stands at its left.
        mean, low, high: the ends are NaN where there is no interval.
        text: the value as it stands on the right.
        about: the tooltip.
        number: of its colour; None for a reference, which is drawn apart.
        group: the row's heading, if it has one.
        within: a narrower interval of another kind; NaN where there is none.
        dots: single values.
    """

    name: str
    mean: float
    low: float
    high: float
    text: str
    about: str
    number: int | None
    group: str = ""
    within: Sequence[float] = (nan, nan)
    dots: Sequence[float] = ()


def panel_of(
    rows: Sequence[Row], scale: str, legend: Sequence[str] = (), zero: bool = False
) -> Panel:
    """Rows from top to bottom; those of a group follow each other.

    Args:
        rows: at least one.
        scale: name of the horizontal axis.
        legend: names of the wide and of the narrow interval; none if rows need no legend.
        zero: whether to mark zero.
    """
    lines: list[Row | str] = []
    for i, row in enumerate(rows):
        if row.group and (i == 0 or rows[i - 1].group != row.group):
            lines.append(row.group)
        lines.append(row)
    longest = max(min(len(row.name), LONGEST) for row in rows)
    heading = 2 * LONGEST - longest  # within the plane, in bold
    places = {i: one for i, one in enumerate(lines) if isinstance(one, Row)}

    def draw(axes: "Axes") -> None:
        axes.set(ylim=(len(lines) - 0.4, -0.6))
        # A long one is wider than the plane, and has room at its left.
        axes.set_xlabel(scale, loc="right" if len(scale) > LONGEST else "center")
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_yticks([*places], [cut(row.name, LONGEST) for row in places.values()])
        for at, one in enumerate(lines):
            if isinstance(one, Row):
                if zero:
                    axes.plot([0, 0], [at - 0.5, at + 0.5], color=SOFT, linewidth=0.9)
                _row(axes, at, one, wide=(legend or [""])[0])
            else:
                axes.annotate(cut(one, heading), (0.01, at), weight="bold", **_AT_ROW)
                axes.axhline(at - 0.5, color=RULES, linewidth=0.6)
        if len(legend) > 1:
            axes.plot([], [], color=colour(1), linewidth=_BAR, label=label(legend[1]))

    return Panel("", draw, lines=len(lines), plane=False, longest=longest)


def _row(axes: "Axes", at: int, row: Row, wide: str) -> None:
    """The wide interval as a line, the narrow one as a bar, the mean, and its dots below them."""
    shade = SOFT if row.number is None else colour(row.number)
    barred = isfinite(row.within[0])
    if barred:
        axes.plot(row.within, [at, at], color=colour(1), linewidth=_BAR, solid_capstyle="butt")
    if isfinite(row.low):
        ends: dict[str, Any] = {"marker": "|", "markersize": 4, "markeredgewidth": 1.0}
        named = label(wide) if wide else None
        axes.plot([row.low, row.high], [at, at], color=shade, linewidth=1.0, label=named, **ends)
    if len(row.dots) > 1:
        axes.scatter(row.dots, [at + 0.3] * len(row.dots), s=4, color=shade, linewidths=0)
    look: dict[str, Any] = {"color": shade, "s": 8 if barred else 20}
    if row.number is None:
        look |= {"marker": "D", "facecolors": "#ffffff", "s": 14}
    mark = axes.scatter([row.mean], [at], edgecolors=shade, linewidths=0.9, zorder=3, **look)
    mark.set_urls([tooltip(row.about)])
    axes.annotate(f" {row.text}", (1, at), color=SOFT, annotation_clip=False, **_AT_ROW)
