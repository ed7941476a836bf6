"""Learning curves: mean over seeds with a band, and what every snapshot selector picked."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, Measure, TrialHistory
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.configurations import Curve
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document.blocks import grouped
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, cut, in_ems, line
from fsl_sweep.orchestrator.report.figures.style import INK, RULES, SOFT, colour, tooltip
from fsl_sweep.orchestrator.selectors import snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_oracle

FEW_SEEDS = 5
"""Up to so many, each seed is drawn as a thin line."""

ROW = 1.3
"""Height of a selector's row below the curves, in heights of the font."""


def curves(report: RunContent) -> Iterable[Figure]:
    """Draw a panel for each method and configuration that is shown."""
    shown = report.curves
    groups = grouped(shown, lambda curve: (curve[0].method, curve[0].configuration))
    scores = [_scores(trial, measure) for trial, _ in shown for measure in MEASURES]
    known = [score for curve in scores for score in curve if isfinite(score)]
    if not known:
        return
    scale = min(known), max(*known, min(known) + 1)
    names = [name for name in report.info.snapshot if any(name in picks for _, picks in shown)]
    several = max(map(len, groups)) > 1
    caption = "Accuracy on the selection tasks by epoch" + (
        ": mean over seeds, and from the least to the greatest seed." if several else "."
    )
    if names:
        caption += " Below: the epoch that each snapshot selector picks" + (
            ", larger where more seeds share it." if several else "."
        )
    if report.curves_total > len(shown):
        caption += f" {len(shown)} of {report.curves_total} trials are shown."
    yield Figure(
        "curves",
        caption,
        [SHOWN_AS[measure] for measure in MEASURES],
        [_panel(group, names, scale, report.named(group[0][0].method)) for group in groups],
    )


def _scores(trial: TrialHistory, measure: Measure) -> list[float]:
    """Return accuracies in percent by epoch."""
    return (100 * trial.scores[measure, "selection"].means).tolist()


def _panel(
    group: Sequence[Curve], names: Sequence[str], scale: tuple[float, float], method: str
) -> Panel:
    def draw(axes: Axes) -> None:
        axes.set(xlabel="epoch", ylabel="accuracy, %")
        axes.locator_params(axis="x", nbins=5, integer=True)
        for number, measure in enumerate(MEASURES):
            _measure(axes, group, number, measure)
        for name, at in _below(axes, names, scale).items():
            _picks(axes, group, name, at)

    values = wording.values(group[0][0].hyperparameters)
    title = ", ".join(filter(None, (method, values)))
    return Panel(title, draw, lines=len(names), longest=max(map(len, names), default=5))


def _measure(axes: Axes, group: Sequence[Curve], number: int, measure: Measure) -> None:
    """Draw the mean where all seeds have the epoch: fewer would make it jump."""
    seeds = [
        dict(zip(trial.epochs.tolist(), _scores(trial, measure), strict=True)) for trial, _ in group
    ]
    common = sorted(set.intersection(*(set(scores) for scores in seeds)))
    values = np.array([[scores[epoch] for epoch in common] for scores in seeds])
    if not np.isfinite(values).any():  # records from elsewhere may lack a measure
        return
    if len(seeds) > 1 and common:
        shade: dict[str, Any] = {"color": colour(number), "alpha": 0.15, "linewidth": 0}
        axes.fill_between(common, values.min(axis=0), values.max(axis=0), **shade)
    if 1 < len(seeds) <= FEW_SEEDS:
        for scores in seeds:
            axes.plot(list(scores), list(scores.values()), color=colour(number), lw=0.4, alpha=0.5)
    if common:
        line(axes, common, values.mean(axis=0).tolist(), number, SHOWN_AS[measure])


def _below(axes: Axes, names: Sequence[str], scale: tuple[float, float]) -> dict[str, float]:
    """Make room for a row for each snapshot selector under the curves, and return their places."""
    from matplotlib.ticker import MaxNLocator

    low, high = scale
    edge = low - 0.05 * (high - low)
    text = ROW / in_ems(axes)[1]  # of the whole plane
    row = 1.05 * (high - low) * text / max(1 - text * (len(names) + 1), 0.2)
    places = {name: edge - (i + 0.7) * row for i, name in enumerate(names)}
    every = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    ticks = [tick for tick in every if edge <= tick <= high + row]
    shown = [*(f"{tick:g}" for tick in ticks), *(cut(name, 12) for name in names)]
    axes.set_yticks([*ticks, *places.values()], shown)
    axes.set_ylim(edge - (len(names) + 0.4) * row if names else edge, high + 0.5 * row)
    axes.grid(visible=False, axis="y")
    for tick in ticks:
        axes.axhline(tick, color=RULES, linewidth=0.6, zorder=0)
    if names:
        axes.axhline(edge, color=SOFT, linewidth=0.6)
    return places


def _picks(axes: Axes, group: Sequence[Curve], name: str, at: float) -> None:
    """Mark each epoch that the selector picks, openly if it is an oracle."""
    seeds: dict[int, list[str]] = {}
    for trial, picks in group:
        if name in picks:
            seeds.setdefault(picks[name], []).append(str(trial.seed))
    look: dict[str, Any] = {"color": INK}
    if is_oracle(snapshot_selector(name)):
        look = {"marker": "D", "facecolors": "#ffffff", "edgecolors": INK}
    sizes = [10 * len(of_epoch) for of_epoch in seeds.values()]
    marks = axes.scatter([*seeds], [at] * len(seeds), s=sizes, linewidths=0.7, **look)
    about = [f"{name}: epoch {epoch} (seed {', '.join(of)})" for epoch, of in seeds.items()]
    marks.set_urls(list(map(tooltip, about)))
    axes.axhline(at, color=RULES, linewidth=0.4, zorder=0)
