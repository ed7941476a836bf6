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
    """Draw a panel for each method and axis."""
    every = responses_of(report)
    if not every:
        return
    numbers = {method: i for i, method in enumerate(report.selected.methods)}
    shown = _most_important(every)
    values = [100 * value for response in shown for level in response.values for value in level]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} on the report tasks over each axis, of the snapshots that {shown[0].snapshot} "
        "chose: dots are configurations and seeds, the line joins their means. The share of the "
        "variance over all of them that these means explain (functional ANOVA main effect) stands "
        "above them, with what an axis without any effect would explain on average. Choosing by "
        "these numbers would be an oracle's choice."
    )
    if len(every) > len(shown):
        caption += f" {len(shown)} of {len(every)} axes are shown."
    scale = min(values), max(values)
    panels = [
        _panel(r, report.named(r.method), numbers[r.method], f"{metric}, %", scale) for r in shown
    ]
    yield Figure("response", caption, (), panels, shared="y")


def _most_important(responses: Sequence[Response]) -> list[Response]:
    ranked = sorted(responses, key=lambda r: -r.effect.share if r.effect else 0.0)[:PANELS]
    return [response for response in responses if response in ranked]


def _panel(
    response: Response, method: str, number: int, metric: str, scale: tuple[float, float]
) -> Panel:
    (name,) = wording.short_keys([response.axis]).values()
    low, high = scale
    edge = 0.05 * max(high - low, 1)

    def draw(axes: "Axes") -> None:
        places = list(response.levels) if response.numeric else list(range(len(response.levels)))
        if response.logarithmic:
            axes.set_xscale("log")
        axes.set(xlabel=cut(name, 24), ylabel=metric, ylim=(low - edge, high + 4 * edge))
        _name_levels(axes, places, [cut(wording.value(level), 12) for level in response.levels])
        for x, values in zip(places, response.values, strict=True):
            dots = [100 * value for value in values]
            axes.scatter([x] * len(dots), dots, s=7, color=colour(number), alpha=0.5, linewidths=0)
        means = [100 * float(np.mean(values)) for values in response.values]
        style = "-" if response.numeric else ":"
        mark: dict[str, Any] = {"marker": marker(number), "markersize": 5, "linestyle": style}
        axes.plot(places, means, color=colour(number), **mark)
        axes.margins(x=0.12)
        if response.effect is not None:
            share, by_chance = (
                f"{100 * x:.0f} %" for x in (response.effect.share, response.effect.by_chance)
            )
            place: dict[str, Any] = {"xycoords": "axes fraction", "va": "top", "color": SOFT}
            axes.annotate(f"{share}, by chance {by_chance}", (0.02, 1), **place)

    return Panel(f"{method}: {name}", draw)


def _name_levels(axes: "Axes", places: Sequence[float], names: Sequence[str]) -> None:
    """Name each level and nothing else; aslant where names would touch."""
    axes.set_xticks([], minor=True)
    each = in_ems(axes)[0] / (len(names) + 0.5)
    if 0.62 * max(map(len, names)) < each:
        axes.set_xticks(places, names)
    else:
        axes.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
