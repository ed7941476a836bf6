"""What several benchmarks say of strategies and of methods: means with their intervals."""

from collections.abc import Iterable
from dataclasses import replace

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import BenchmarksContent
from fsl_sweep.orchestrator.report.document import benchmarks
from fsl_sweep.orchestrator.report.figures.intervals import panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure


def regrets(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw what choosing by each strategy costs, as the forest plot of the answer."""
    for plot in benchmarks.regrets(report):
        caption = (
            f"Regret against {wording.FULL_ORACLE}, mean over methods. {plot.note} Small dots: "
            "benchmarks. Less is better."
        )
        panel = panel_of(plot.bars, plot.title, digits=".2f", zero=True)
        yield Figure("regret", caption, (), [panel])


def methods(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw each method under the leading strategy, the best first."""
    if report.over is None or not report.over.methods:
        return
    cells = sorted(enumerate(report.over.methods), key=lambda cell: -cell[1].mean.mean)
    bars = [
        replace(benchmarks.bar_of(cell.method, cell.mean, cell.means), number=number)
        for number, cell in cells
    ]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} under {report.lead}. {benchmarks.intervals(report)} Small dots: benchmarks. "
        "Methods share the benchmarks, so that those that differ may overlap: the differences "
        "below are paired."
    )
    yield Figure("methods", caption, (), [panel_of(bars, f"{metric}, %")])
