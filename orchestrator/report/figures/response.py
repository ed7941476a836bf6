"""What each axis of the grid does to a method: accuracy over its levels, and its importance."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.configurations import TradeOffPoint
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document.blocks import grouped
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, cut, in_ems
from fsl_sweep.orchestrator.report.figures.style import SOFT, colour, marker
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics.main_effects import MainEffect, main_effect

PANELS = 12
"""The most panels: those of the most important axes are shown."""


@dataclass(frozen=True)
class Response:
    """A method over one axis of its grid.

    Attributes:
        method, axis: which ones; the axis by its dotted key.
        levels: the axis' values: numbers ascending, others in plan order.
        values: of each level, accuracy of each configuration and seed, by what methods are
            compared by, in [0, 1].
        effect: the axis' main effect on all of them; None where the grid is not full.
    """

    method: str
    axis: str
    levels: tuple[Any, ...]
    values: tuple[tuple[float, ...], ...]
    effect: MainEffect | None

    @property
    def numeric(self) -> bool:
        """Return whether levels are numbers, with distances between them."""
        return all(map(_is_number, self.levels))

    @property
    def logarithmic(self) -> bool:
        """Return whether the levels are positive numbers over a decade or more."""
        return self.numeric and self.levels[0] > 0 and self.levels[-1] >= 10 * self.levels[0]


def responses_of(report: RunContent) -> tuple[Response, ...]:
    """Return every axis with two levels or more, by method in plan order.

    Snapshots are those of the snapshot selector that the answer speaks of.
    """
    if report.lead is None:
        return ()
    snapshot = report.lead.snapshot
    points = next((t.points for t in report.tradeoffs if snapshot in t.snapshots), ())
    return tuple(
        _response(of_method, axis, report.base_weight)
        for of_method in grouped(points, lambda point: point.method)
        for axis in of_method[0].hyperparameters
        if len({_key(point, axis) for point in of_method}) > 1
    )


def responses(report: RunContent) -> Iterable[Figure]:
    """Draw a panel for each method and axis."""
    every = responses_of(report)
    if not every or report.lead is None:
        return
    numbers = {method: i for i, method in enumerate(report.selected.methods)}
    shown = _most_important(every)
    values = [100 * value for response in shown for level in response.values for value in level]
    metric, snapshot = wording.metric(report.base_weight), report.lead.snapshot
    caption = (
        f"{metric} on the report tasks over each axis, of the snapshots that {snapshot} chose: "
        "dots are configurations and seeds, the line joins their means. The share of the variance "
        "over all of them that these means explain (functional ANOVA main effect) stands above "
        "them, with what an axis without any effect would explain on average. Choosing by these "
        "numbers would be an oracle's choice."
    )
    if len(every) > len(shown):
        caption += f" {len(shown)} of {len(every)} axes are shown."
    scale = min(values), max(values)
    panels = [
        _panel(r, report.named(r.method), numbers[r.method], f"{metric}, %", scale) for r in shown
    ]
    yield Figure("response", caption, (), panels, shared="y")


def _response(points: Sequence[TradeOffPoint], axis: str, base_weight: float | None) -> Response:
    levels: dict[str, Any] = {_key(p, axis): p.hyperparameters.get(axis) for p in points}
    if all(map(_is_number, levels.values())):
        levels = dict(sorted(levels.items(), key=lambda level: level[1]))
    values: dict[str, list[float]] = {key: [] for key in levels}
    for point in points:
        for base, novel in point.seeds:
            accuracy = novel if base_weight is None else float(mixed(base_weight, base, novel))
            values[_key(point, axis)].append(accuracy)
    pairs = [(value, key) for key, of_level in values.items() for value in of_level]
    full = _is_full_grid([point.hyperparameters for point in points])
    return Response(
        method=points[0].method,
        axis=axis,
        levels=tuple(levels.values()),
        values=tuple(map(tuple, values.values())),
        effect=main_effect([v for v, _ in pairs], [key for _, key in pairs]) if full else None,
    )


def _is_full_grid(configurations: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether every combination of the levels of all axes is there, once."""
    axes = list(dict.fromkeys(axis for values in configurations for axis in values))
    rows = [tuple(_written(values.get(axis)) for axis in axes) for values in configurations]
    return sorted(rows) == sorted(product(*({*column} for column in zip(*rows, strict=True))))


def _key(point: TradeOffPoint, axis: str) -> str:
    return _written(point.hyperparameters.get(axis))


def _written(value: Any) -> str:
    """Return the same text for equal values, and only for those: 1 is 1.0, and not true."""
    number = float(value) if _is_number(value) else value
    return json.dumps(number, sort_keys=True, default=str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _most_important(responses: Sequence[Response]) -> list[Response]:
    ranked = sorted(responses, key=lambda r: -r.effect.share if r.effect else 0.0)[:PANELS]
    return [response for response in responses if response in ranked]


def _panel(
    response: Response, method: str, number: int, metric: str, scale: tuple[float, float]
) -> Panel:
    (name,) = wording.short_keys([response.axis]).values()
    low, high = scale
    edge = 0.05 * max(high - low, 1)

    def draw(axes: Axes) -> None:
        places = list(response.levels) if response.numeric else list(range(len(response.levels)))
        if response.logarithmic:
            axes.set_xscale("log")
        axes.set(xlabel=cut(name, 24), ylabel=metric, ylim=(low - edge, high + 4 * edge))
        _name_levels(axes, places, [cut(wording.value(level), 12) for level in response.levels])
        # All dots at once: a scatter for each level takes several times as long.
        dots = [
            (x, 100 * value)
            for x, values in zip(places, response.values, strict=True)
            for value in values
        ]
        axes.scatter(*zip(*dots, strict=True), s=7, color=colour(number), alpha=0.5, linewidths=0)
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


def _name_levels(axes: Axes, places: Sequence[float], names: Sequence[str]) -> None:
    """Name each level and nothing else; aslant where names would touch."""
    axes.set_xticks([], minor=True)
    each = in_ems(axes)[0] / (len(names) + 0.5)
    if 0.62 * max(map(len, names)) < each:
        axes.set_xticks(places, names)
    else:
        axes.set_xticks(places, names, rotation=30, ha="right", rotation_mode="anchor")
