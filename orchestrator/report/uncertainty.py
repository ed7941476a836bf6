"""Uncertainty on the terminal: stability of conclusions, budgets and fronts."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.report import notes, rows
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.tables import plain_table
from fsl_sweep.orchestrator.selected import Front


def stability(report: Report) -> Iterable[RenderableType]:
    """What each strategy's ranking of methods survives; equal rows once."""
    found = rows.of_stability(report)
    if not found:
        return
    several = rows.several_methods(report)
    table = plain_table()
    table.add_column("snapshot / config", overflow="fold")
    table.add_column("methods, best first" if several else "method", overflow="fold")
    for name in found[0].cells:
        short = name in ("seeds", "tasks", "strategies")
        table.add_column(name, justify="right", no_wrap=short, overflow="fold")
    for row in found:
        cells = ("\n".join(row.strategies), row.order, *row.cells.values())
        table.add_row(*cells, style="dim" if row.oracle else "")
    yield table
    yield Text("\n" + notes.stability(report), "dim")


def budgets(report: Report) -> Iterable[RenderableType]:
    """Regret of the budgeted oracle by budget."""
    if not report.budget_curve:
        return
    for method in dict.fromkeys(point.method for point in report.budget_curve):
        own = [point for point in report.budget_curve if point.method == method]
        yield Text(f"\n{method}", "bold cyan")
        yield _budget_table(own)
    yield Text("\n" + notes.BUDGETS, "dim")


def fronts(report: Report) -> Iterable[RenderableType]:
    """The configurations on each front, by method and snapshot selector."""
    found = report.selected.fronts
    if not found:
        return
    for title, own in rows.fronts_alike(found).items():
        yield Text(f"\n{title}", "bold cyan")
        yield _front_table(own)
    yield Text("\n" + notes.FRONTS, "dim")


def _budget_table(points: Sequence[BudgetPoint]) -> Table:
    table = plain_table()
    curves, cells = rows.of_budgets(points)
    table.add_column("budget", justify="right", no_wrap=True)
    for snapshot, allocation in curves:
        table.add_column(f"{snapshot}\n{allocation}", justify="right", overflow="fold")
    for row in cells:
        table.add_row(*row)
    return table


def _front_table(own: Sequence[Front]) -> Table:
    table = plain_table()
    table.add_column("configuration", overflow="fold")
    for name in ("BaseGen", "NovelGen", "seeds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows.of_front(own):
        table.add_row(*row)
    return table
