"""What several benchmarks say of strategies and of methods: means with their intervals."""

from collections.abc import Iterable
from dataclasses import replace

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import BenchmarksContent
from fsl_sweep.orchestrator.report.document.benchmarks import bar_of
from fsl_sweep.orchestrator.report.figures.intervals import panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure


def _intervals(report: BenchmarksContent) -> str:
    lines = "Two benchmarks have no" if len(report.reports) == 2 else "Lines: 95 %"
    return f"{lines} interval over benchmarks; small dots: benchmarks."


def regrets(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw what choosing by each strategy costs."""
    if report.over is None or not report.over.strategies:
        return
    lead, cells = report.lead, report.over.strategies
    shown = [cell for cell in cells if not cell.strategy.oracle or cell.strategy == lead]
    shown.sort(key=lambda cell: cell.strategy != lead)
    bars = [bar_of(str(cell.strategy), cell.regret, cell.regrets) for cell in shown]
    panel = panel_of(bars, "regret, points", digits=".2f", zero=True)
    caption = f"Regret against {wording.FULL_ORACLE}, mean over methods. {_intervals(report)}"
    yield Figure("regret", f"{caption} Less is better.", (), [panel])


def methods(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw each method under the leading strategy, the best first."""
    if report.over is None or not report.over.methods:
        return
    cells = sorted(enumerate(report.over.methods), key=lambda cell: -cell[1].mean.mean)
    bars = [replace(bar_of(c.method, c.mean, c.means), number=number) for number, c in cells]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} under {report.lead}. {_intervals(report)} Methods share the benchmarks, so that "
        "those that differ may overlap: the differences below are paired."
    )
    yield Figure("methods", caption, (), [panel_of(bars, f"{metric}, %")])
