"""How many queries make open intervals shortest: the U of "Oops, I Sampled it Again", figure 4."""

from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, line
from fsl_sweep.orchestrator.report.figures.style import colour, marker

Points = Sequence[tuple[int, float]]
"""Queries of each class, and the half-width of a 95 % interval, in [0, 1]."""


def queries_figure(methods: Sequence[tuple[str, Points, Points]]) -> Figure:
    """Of each method its name, and the predicted and the measured half-widths."""

    def draw(axes: Axes) -> None:
        from matplotlib.ticker import LogLocator

        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set(xlabel="queries of each class", ylabel="half-width of 95 %, points")
        for number, (name, predicted, measured) in enumerate(methods):
            x, y = np.array(predicted).reshape(-1, 2).T
            line(axes, x.tolist(), (100 * y).tolist(), number, name)
            x, y = np.array(measured).reshape(-1, 2).T
            axes.scatter(x, 100 * y, color=colour(number), marker=marker(number), s=16, zorder=3)

    caption = "Half-widths of open intervals: lines are predicted, marks are measured."
    names = [name for name, _, _ in methods]
    return Figure("queries", caption, names, [Panel("", draw)])
