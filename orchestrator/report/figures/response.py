"""Accuracy over each axis of the grid, with the importance of the axis."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel, cut, in_ems, marker
from fsl_sweep.orchestrator.report.figures.style import SOFT, colour
from fsl_sweep.orchestrator.report.response import Response, responses_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 12
"""The most panels: those of the most important axes are shown."""


def responses(report: RunContent) -> Iterable[Figure]:
    """A panel for each method and axis."""
    found = responses_of(report)
    if not found:
        return
    numbers = {method: i for i, method in enumerate(report.selected.methods)}
    shown = _shown(found)
    every = [100 * value for one in shown for own in one.values for value in own]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} on the report tasks over each axis, of the snapshots that {shown[0].snapshot} "
        "chose: dots are configurations and seeds, the line joins their means. The share of the "
        "variance over all of them that these means explain (functional ANOVA main effect) stands "
        "above them, with what an axis without any effect would explain on average. Choosing by "
        "these numbers would be an oracle's choice."
    )
    if len(found) > len(shown):
        caption += f" {len(shown)} of {len(found)} axes are shown."
    scale = min(every), max(every)
    panels = [
        _panel(one, report.named(one.method), numbers[one.method], f"{metric}, %", scale)
        for one in shown
    ]
    yield Figure("response", caption, (), panels, shared="y")


def _shown(found: Sequence[Response]) -> list[Response]:
    ranked = sorted(found, key=lambda one: -one.effect.share if one.effect else 0.0)[:PANELS]
    return [one for one in found if one in ranked]


def _panel(
    one: Response, method: str, number: int, metric: str, scale: tuple[float, float]
) -> Panel:
    (name,) = wording.short_keys([one.axis]).values()
    low, high = scale
    edge = 0.05 * max(high - low, 1)

    def draw(axes: "Axes") -> None:
        places = list(one.levels) if one.numeric else list(range(len(one.levels)))
        if one.logarithmic:
            axes.set_xscale("log")
        axes.set(xlabel=cut(name, 24), ylabel=metric, ylim=(low - edge, high + 4 * edge))
        _name_levels(axes, places, [cut(wording.value(level), 12) for level in one.levels])
        for x, own in zip(places, one.values, strict=True):
            dots = [100 * value for value in own]
            axes.scatter([x] * len(dots), dots, s=7, color=colour(number), alpha=0.5, linewidths=0)
        means = [100 * float(np.mean(own)) for own in one.values]
        style = "-" if one.numeric else ":"
        mark: dict[str, Any] = {"marker": marker(number), "markersize": 5, "linestyle": style}
        axes.plot(places, means, color=colour(number), **mark)
        axes.margins(x=0.12)
        if one.effect is not None:
            share, by_chance = (
                f"{100 * x:.0f} %" for x in (one.effect.share, one.effect.by_chance)
            )
            place: dict[str, Any] = {"xycoords": "axes fraction", "va": "top", "color": SOFT}
            axes.annotate(f"{share}, by chance {by_chance}", (0.02, 1), **place)

    return Panel(f"{method}: {name}", draw)


def _name_levels(axes: "Axes", places: Sequence[float], names: Sequence[str]) -> None:
    """A tick for each level and no other; aslant where names would touch."""
    axes.set_xticks([], minor=True)
    each = in_ems(axes)[0] / (len(names) + 0.5)
    if 0.62 * max(map(len, names)) < each:
        axes.set_xticks(places, names)
    else:
        axes.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
