"""What novel evaluations buy."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel
from fsl_sweep.orchestrator.report.figures.style import SOFT, colour, dashes, label, marker


def budgets(report: RunContent) -> Iterable[Figure]:
    """Draw regret against the budget, a panel for each method."""
    points = report.budget_curve
    if not points:
        return
    names = list(dict.fromkeys(f"{p.snapshot}, {p.allocation}" for p in points))
    every = [(p.budget, y) for p in points for y in (0.0, 100 * p.regret.mean)]

    def panel(method: str) -> Panel:
        def draw(axes: Axes) -> None:
            axes.set(xlabel="novel looks, each seed", ylabel="regret, points")
            axes.update_datalim(every)
            axes.axhline(0, color=SOFT, linewidth=0.9)
            for number, name in enumerate(names):
                regrets = [
                    (p.budget, 100 * p.regret.mean)
                    for p in points
                    if (p.method, f"{p.snapshot}, {p.allocation}") == (method, name)
                ]
                look: Any = {"marker": marker(number), "ls": dashes(number)}
                axes.plot(*np.array(regrets).T, color=colour(number), label=label(name), **look)

        return Panel(report.named(method), draw)

    methods = dict.fromkeys(p.method for p in points)
    caption = "Regret of the budgeted oracle against oracle / oracle, mean over seeds."
    yield Figure("budget", caption, names, list(map(panel, methods)), shaped=True)
