"""The figures of the report, by the section that they belong to."""

from fsl_sweep.orchestrator.report.content import BenchmarksContent, Content
from fsl_sweep.orchestrator.report.figures.budget import budgets
from fsl_sweep.orchestrator.report.figures.curves import curves
from fsl_sweep.orchestrator.report.figures.forest import (
    benchmark_methods,
    differences,
    forest,
    regrets,
)
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.figures.response import responses
from fsl_sweep.orchestrator.report.figures.tradeoff import tradeoffs

__all__ = ["DRAWN", "Figure", "Panel", "figures"]

DRAWN = {
    "answer": forest,
    "strategies": tradeoffs,
    "differences": differences,
    "curves": curves,
    "response": responses,
    "budget": budgets,
}
"""What draws the figures of a section, by its key."""


def figures(report: Content) -> dict[str, list[Figure]]:
    """Return figures by the key of their section; none where there is nothing to draw."""
    if isinstance(report, BenchmarksContent):
        drawn = {"answer": [*regrets(report)], "methods": [*benchmark_methods(report)]}
    else:
        drawn = {key: [*draw(report)] for key, draw in DRAWN.items()}
    return {key: kept for key, kept in drawn.items() if kept}
