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

Cells = tuple[str, ...]
WORDS = 2
"""Columns of the table of stability that hold names; numbers follow."""


def stability(report: Report, width: int) -> Iterable[RenderableType]:
    """What each strategy's ranking of methods survives; equal rows once."""
    found = rows.of_stability(report)
    if not found:
        return
    head = (
        "snapshot / config",
        "methods, best first" if rows.several_methods(report) else "method",
        *found[0].cells,
    )
    whole = [("\n".join(row.strategies), row.order, *row.cells.values()) for row in found]
    ways = _ways_to_break(head, whole)
    lines = next((way for way in ways if _columns(way) <= width), ways[-1])
    table = plain_table()
    for number, name in enumerate(lines[0]):
        folds = number < WORDS
        justify = "left" if folds else "right"
        table.add_column(name, justify=justify, no_wrap=not folds, overflow="fold")
    for row, cells in zip(found, lines[1:], strict=True):
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


def _ways_to_break(head: Cells, whole: list[Cells]) -> list[list[Cells]]:
    """Head and rows in a line each; with a line for each method; and for each selector too."""
    methods = [
        (one[0], one[1].replace(" > ", "\n"), *(cell.replace(" / ", "\n") for cell in one[WORDS:]))
        for one in whole
    ]
    high = (head[0], *(name if len(name) < 8 else name.replace(" ", "\n", 1) for name in head[1:]))
    selectors = [(one[0].replace(" / ", " /\n "), *one[1:]) for one in (high, *methods)]
    return [[head, *whole], [high, *methods], selectors]


def _columns(lines: list[Cells]) -> int:
    """How wide the table is whose cells are broken nowhere else."""
    widths = [
        max(len(line) for cell in column for line in cell.split("\n"))
        for column in zip(*lines, strict=True)
    ]
    return sum(widths) + 2 * (len(widths) - 1)
