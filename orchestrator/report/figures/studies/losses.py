"""The objectives of ML and FIX-ML over epochs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fsl_sweep.orchestrator.report.document.blocks import grouped
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, line
from fsl_sweep.orchestrator.report.figures.style import colour

OBJECTIVES = {"ml": "ML", "fix_ml": "FIX-ML"}
"""The losses of a row of means, and their names."""
_ENDS = ("low", "high")
GROUP = ("method", "hyperparameters", "episode")
"""What the rows of a panel have in common."""


def losses_figure(means: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw a panel for each method, configuration and episode, of one scale.

    Source: "Lessons from Chasing Few-Shot Learning Benchmarks", figures 4 and 5.

    Args:
        means: at least one, those of a panel together. Each names its panel by ``method``,
            ``hyperparameters`` and ``episode``, and has an ``epoch`` and for each objective None or
            ``mean``, ``low`` and ``high`` in nats.
    """
    losses = [row[key] for row in means for key in OBJECTIVES if row[key]]
    ends = [loss[end] for loss in losses for end in _ENDS]
    limits = max(min(ends), 1e-6) / 1.2, max(ends) * 1.2
    panels = [
        Panel(
            ", ".join(filter(None, (rows[0][part] for part in GROUP))),
            partial(_curves, rows, limits),
        )
        for rows in grouped(means, lambda row: tuple(row[part] for part in GROUP))
    ]
    caption = "Loss on base training tasks, not augmented, with 95 % intervals over tasks."
    return Figure("losses", caption, list(OBJECTIVES.values()), panels, shared="y")


def _curves(means: Sequence[Mapping[str, Any]], limits: tuple[float, float], axes: Axes) -> None:
    """Draw both objectives over epochs, with 95 % over tasks: a band, or a bar at one epoch."""
    axes.set(xlabel="epoch", ylabel="loss, nats", yscale="log", ylim=limits)
    axes.yaxis.set_major_formatter("{x:g}")  # in place of formulas, which are not set
    axes.yaxis.set_minor_formatter("{x:g}" if limits[1] < 10 * limits[0] else "")
    axes.locator_params(axis="x", nbins=5, integer=True)
    for number, (key, name) in enumerate(OBJECTIVES.items()):
        rows = [row for row in means if row[key]]
        if rows:
            epochs = [row["epoch"] for row in rows]
            mean, low, high = ([row[key][end] for row in rows] for end in ("mean", *_ENDS))
            if len(epochs) > 1:
                axes.fill_between(epochs, low, high, color=colour(number), alpha=0.15, linewidth=0)
            else:
                axes.set_xticks(epochs)
                axes.vlines(epochs, low, high, color=colour(number))
            line(axes, epochs, mean, number, name)
