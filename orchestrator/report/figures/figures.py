"""The figures of the report, by the section that they belong to."""

from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.figures.budget import budgets
from fsl_sweep.orchestrator.report.figures.curves import curves
from fsl_sweep.orchestrator.report.figures.methods import differences, forest
from fsl_sweep.orchestrator.report.figures.panel import Figure, Panel
from fsl_sweep.orchestrator.report.figures.response import responses
from fsl_sweep.orchestrator.report.figures.tradeoff import tradeoffs
from fsl_sweep.orchestrator.report.figures.worlds import methods, regrets
from fsl_sweep.orchestrator.report.over_worlds import WorldsReport

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


def figures(report: Report | WorldsReport) -> dict[str, list[Figure]]:
    """Figures by the key of their section; nothing where there is nothing to draw."""
    if isinstance(report, WorldsReport):
        drawn = {"answer": [*regrets(report)], "methods": [*methods(report)]}
    else:
        drawn = {key: [*draw(report)] for key, draw in DRAWN.items()}
    return {key: found for key, found in drawn.items() if found}
