"""Forest plots: a row for each interval, in groups."""

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from fsl_sweep.orchestrator.report.document.blocks import Bar
from fsl_sweep.orchestrator.report.figures.panel import Panel, cut, label, tooltip
from fsl_sweep.orchestrator.report.figures.style import INK, RULES, SOFT, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 26
"""Characters of a row's name; what is cut is in the tooltip."""

_THICK = 7
"""Points of a narrow interval's height: more than its mark's, which hides none, however short."""

_AT_ROW: Any = {"xycoords": ("axes fraction", "data"), "va": "center"}
"""Of a text: at a share of the width, and at a row."""


def panel_of(
    bars: Sequence[Bar],
    scale: str,
    legend: Sequence[str] = (),
    *,
    digits: str = ".1f",
    zero: bool = False,
) -> Panel:
    """Return a panel of bars from top to bottom; those of a group follow each other.

    Args:
        bars: at least one.
        scale: name of the horizontal axis.
        legend: names of the wide and of the narrow interval; none if bars need no legend.
        digits: how the mean is written on the right.
        zero: whether to mark zero.
    """
    lines: list[Bar | str] = []
    for i, bar in enumerate(bars):
        if bar.group and (i == 0 or bars[i - 1].group != bar.group):
            lines.append(bar.group)
        lines.append(bar)
    longest = max(min(len(_name(bar)), LONGEST) for bar in bars)
    heading = 2 * LONGEST - longest  # within the plane, in bold
    names = {i: _name(line) for i, line in enumerate(lines) if isinstance(line, Bar)}

    def draw(axes: "Axes") -> None:
        axes.set(ylim=(len(lines) - 0.4, -0.6))
        # A long one is wider than the plane, and has room at its left.
        axes.set_xlabel(scale, loc="right" if len(scale) > LONGEST else "center")
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_yticks([*names], [cut(name, LONGEST) for name in names.values()])
        for at, line in enumerate(lines):
            if isinstance(line, Bar):
                if zero:
                    axes.plot([0, 0], [at - 0.5, at + 0.5], color=SOFT, linewidth=0.9)
                _draw(axes, at, line, f" {line.mean:{digits}}", wide=(legend or [""])[0])
            else:
                axes.annotate(cut(line, heading), (0.01, at), weight="bold", **_AT_ROW)
                axes.axhline(at - 0.5, color=RULES, linewidth=0.6)
        if len(legend) > 1:
            axes.plot([], [], color=colour(1), linewidth=_THICK, label=label(legend[1]))

    return Panel("", draw, lines=len(lines), plane=False, longest=longest)


def _name(bar: Bar) -> str:
    """Return the first name, and how many more share the bar."""
    return bar.names[0] + (f" + {len(bar.names) - 1}" if len(bar.names) > 1 else "")


def _draw(axes: "Axes", at: int, bar: Bar, text: str, wide: str) -> None:
    """Draw the wide interval as a line, the narrow one thick, the mean, and single values below."""
    shade = SOFT if bar.reference else colour(bar.number)
    thick = isfinite(bar.within[0])
    if thick:
        axes.plot(bar.within, [at, at], color=colour(1), linewidth=_THICK, solid_capstyle="butt")
    if isfinite(bar.low):
        ends: dict[str, Any] = {"marker": "|", "markersize": 4, "markeredgewidth": 1.0}
        named = label(wide) if wide else None
        axes.plot([bar.low, bar.high], [at, at], color=shade, linewidth=1.0, label=named, **ends)
    if len(bar.values) > 1:
        places = [at + 0.3] * len(bar.values)
        axes.scatter(bar.values, places, s=4, color=shade, linewidths=0)
    look: dict[str, Any] = {"color": shade, "s": 8 if thick else 20}
    if bar.reference:
        look |= {"marker": "D", "facecolors": "#ffffff", "s": 14}
    mark = axes.scatter([bar.mean], [at], edgecolors=shade, linewidths=0.9, zorder=3, **look)
    mark.set_urls([tooltip(bar.about)])
    axes.annotate(text, (1, at), color=SOFT, annotation_clip=False, **_AT_ROW)
