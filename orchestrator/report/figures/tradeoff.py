"""The trade-off of BaseGen and NovelGen over configurations."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import isfinite
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.configurations import TradeOff, TradeOffPoint
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, cut, in_ems
from fsl_sweep.orchestrator.report.figures.style import INK, SOFT, colour, label, marker, tooltip

LABELLED = 8
"""With more points than these in a panel, none has its configuration beside it."""

CROWDED = 40
"""With more than these, they are smaller and have no bars."""


def tradeoffs(report: RunContent) -> Iterable[Figure]:
    """Draw a panel for each snapshot selector that chooses otherwise, the leading one first."""
    # Records from elsewhere may lack BaseGen.
    shown = [t for t in report.tradeoffs if t.points and all(isfinite(p.base) for p in t.points)]
    if not shown:
        return
    if report.lead is not None:
        first = report.lead.snapshot
        shown.sort(key=lambda tradeoff: (tradeoff.oracle, first not in tradeoff.snapshots))
    methods = {method: report.named(method) for method in report.selected.methods}
    points = [point for tradeoff in shown for point in tradeoff.points]
    every = 100 * np.array([pair for point in points for pair in point.seeds])
    seeds = max(len(point.seeds) for point in points)
    crowded = max(len(tradeoff.points) for tradeoff in shown) > CROWDED
    bars = " Bars: from the least to the greatest seed." if seeds > 1 and not crowded else ""
    mean = ", mean over seeds" if seeds > 1 else ""
    yield Figure(
        "trade-off",
        f"Each mark is a configuration with the snapshots that the selector chose, on the report "
        f"tasks{mean}.{bars} Outlined and joined: the Pareto front, where no other configuration "
        "is better in one without being worse in the other.",
        list(methods.values()),
        [_panel(tradeoff, methods, every, crowded) for tradeoff in shown],
        shaped=True,
    )


def _panel(
    tradeoff: TradeOff, methods: Mapping[str, str], every: np.ndarray, crowded: bool
) -> Panel:
    """Return a panel whose axes hold ``every`` point of all panels, ``[n, 2]`` in percent."""
    least, most = every.min(axis=0), every.max(axis=0)
    edge = np.maximum(0.06 * (most - least), 0.2)
    (left, low), (right, high) = (least - edge).tolist(), (most + edge).tolist()

    def draw(axes: Axes) -> None:
        axes.set(xlabel="BaseGen, %", ylabel="NovelGen, %", xlim=(left, right), ylim=(low, high))
        front = sorted((100 * p.base, 100 * p.novel) for p in tradeoff.points if p.on_front)
        axes.plot(*zip(*front, strict=True), color=INK, linestyle="--", linewidth=0.9, zorder=1)
        for number, (method, name) in enumerate(methods.items()):
            if points := [point for point in tradeoff.points if point.method == method]:
                _method(axes, points, number, name, crowded)
        if len(tradeoff.points) <= LABELLED:
            _label_points(axes, tradeoff.points)

    star = wording.ORACLE if tradeoff.oracle else ""
    return Panel(", ".join(tradeoff.snapshots) + star, draw)


def _method(
    axes: Axes, points: Sequence[TradeOffPoint], number: int, name: str, crowded: bool
) -> None:
    means = 100 * np.array([(point.base, point.novel) for point in points])
    if not crowded and any(len(point.seeds) > 1 for point in points):
        ends = 100 * np.array(
            [[f(point.seeds, axis=0) for f in (np.min, np.max)] for point in points]
        )
        x, y = np.abs(ends - means[:, None]).transpose(2, 1, 0)
        thin: dict[str, Any] = {"fmt": "none", "elinewidth": 0.8, "alpha": 0.6}
        axes.errorbar(*means.T, xerr=x, yerr=y, ecolor=colour(number), **thin)
    marks = axes.scatter(
        *means.T,
        s=8 if crowded else 24,
        color=colour(number),
        edgecolors=[INK if point.on_front else colour(number) for point in points],
        marker=marker(number),
        linewidths=0.8,
        label=label(name),
        zorder=3,
    )
    named = [f"{p.method} {wording.values(p.hyperparameters)}".rstrip() for p in points]
    scores = (f"BaseGen {base:.2f}, NovelGen {novel:.2f}" for base, novel in means)
    texts = map(": ".join, zip(named, scores, strict=True))
    marks.set_urls([*map(tooltip, texts)])  # the painter shows them


def _label_points(axes: Axes, points: Sequence[TradeOffPoint]) -> None:
    """Write the configuration beside each point, where it touches no other text and no mark."""
    to_plane = axes.transData + axes.transAxes.inverted()
    at = to_plane.transform([(100 * point.base, 100 * point.novel) for point in points])
    width, height = in_ems(axes)
    taken = [(x - 0.3 / width, y - 0.3 / height, x + 0.3 / width, y + 0.3 / height) for x, y in at]
    for point, (x, y) in zip(points, at, strict=True):
        text = cut(wording.values(point.hyperparameters), 24)
        wide, high = 0.6 * len(text) / width, 1.1 / height
        for right, above in product((True, False), repeat=2):
            left = x + 0.4 / width if right else x - 0.4 / width - wide
            low = y + 0.25 / height if above else y - 0.25 / height - high
            box = (left, low, left + wide, low + high)
            if left < -0.02 or box[2] > 1.02 or any(_touch(box, other) for other in taken):
                continue
            taken.append(box)
            where = "axes fraction"
            axes.annotate(text, (left, low), xycoords=where, va="bottom", color=SOFT)
            break


def _touch(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
