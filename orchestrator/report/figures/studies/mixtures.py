"""Methods from base to novel classes, over P_BN(lambda)."""

import numpy as np

from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel
from fsl_sweep.orchestrator.report.figures.style import SOFT, colour, label, marker
from fsl_sweep.orchestrator.selection.comparing.mixture_curve import MixtureCurve, band


def mixtures_figure(curves: MixtureCurve, uniform: float | None) -> Figure:
    """Draw a line with its band for each method, and the linear mixture dotted.

    Source: "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", appendix E.

    Args:
        curves: at least one method.
        uniform: |N| / (|N| + |B|), where it is known.
    """

    def draw(axes: Axes) -> None:
        axes.set(xlabel="lambda: probability of a novel class", ylabel="accuracy, %")
        for number, method in enumerate(curves.methods):
            low, high = 100 * np.array([band(cell)[:2] for cell in method.cells]).T
            axes.fill_between(curves.weights, low, high, alpha=0.15, lw=0, color=colour(number))
            means = [100 * cell.novel.mean for cell in method.cells]
            look = {"marker": marker(number), "ms": 3, "label": label(method.method)}
            axes.plot(curves.weights, means, color=colour(number), **look)
            straight = 100 * np.array(method.linear)
            axes.plot(curves.weights, straight, ls=":", lw=0.9, color=colour(number))
        axes.plot([], [], ls=":", lw=0.9, color=SOFT, label=label("linear mixture"))
        if uniform is not None:
            name = label("|N| / (|N| + |B|)")
            axes.axvline(uniform, color=SOFT, lw=0.8, ls="--", label=name)

    bands = ", ".join(dict.fromkeys(band(method.cells[0])[2] for method in curves.methods))
    caption = (
        f"Accuracy where a class of a task is novel with probability lambda; bands: {bands}. "
        "Dotted: (1 - lambda) BaseGen + lambda NovelGen of the same snapshots."
    )
    if uniform is not None:
        caption += " Dashed: lambda |N| / (|N| + |B|), where all classes are drawn alike."
    names = [method.method for method in curves.methods]
    return Figure("lambda", caption, names, [Panel("", draw)], shaped=True)
