"""Uncertainty on the terminal: stability of conclusions, budgets and fronts."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.groups import ORACLE
from fsl_sweep.orchestrator.report.tables import plain_table
from fsl_sweep.orchestrator.selected import Front
from fsl_sweep.orchestrator.stability import Agreement, MethodStability, Stability

SELECT = (
    "select: the same of the interval that resamples tasks and seeds and selects again each time. "
)


def stability(report: Report) -> Iterable[RenderableType]:
    """What each strategy's ranking of methods survives; equal rows once."""
    if not report.stability:
        return
    several = any(len(one.methods) > 1 for one in report.stability)
    names = ["seeds", "tasks", "strategies"] if several else []
    table = plain_table()
    table.add_column("snapshot / config", overflow="fold")
    table.add_column("methods, best first" if several else "method", overflow="fold")
    table.add_column("worst seed", justify="right", overflow="fold")
    if several and report.resampled:
        table.add_column("best, %", justify="right", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    rows: dict[tuple[str, ...], list[Stability]] = {}
    for one in report.stability:
        shown = [_share(found) for found in (one.seeds, one.tasks, one.strategies)][: len(names)]
        chances = [_chances(one.methods)] if several and report.resampled else []
        row = (_order(one.methods), _worst(one.methods), *chances, *shown)
        rows.setdefault((*row, str(one.strategy.oracle)), []).append(one)
    for row, own in rows.items():
        oracle = own[0].strategy.oracle
        strategies = "\n".join(f"{one.strategy}{ORACLE if oracle else ''}" for one in own)
        table.add_row(strategies, *row[:-1], style="dim" if oracle else "")
    yield table
    yield Text("\n" + _key(report, several), "dim")


def budgets(report: Report) -> Iterable[RenderableType]:
    """Regret of the budgeted oracle by budget."""
    if not report.budget_curve:
        return
    for method in dict.fromkeys(point.method for point in report.budget_curve):
        own = [point for point in report.budget_curve if point.method == method]
        yield Text(f"\n{method}", "bold cyan")
        yield _budget_table(own)
    yield Text(
        "\nRegret in percentage points against oracle / oracle, mean over seeds, after at most so "
        "many novel evaluations of each seed. One evaluation is one snapshot on all novel "
        "selection tasks.",
        "dim",
    )


def fronts(report: Report) -> Iterable[RenderableType]:
    """The configurations on each front, by method and snapshot selector."""
    found = report.selected.fronts
    if not found:
        return
    for title, own in _alike(found).items():
        yield Text(f"\n{title}", "bold cyan")
        yield _front_table(own)
    yield Text(
        "\nConfigurations that no other beats in one of the two without losing in the other, as "
        "seen on the selection tasks; percent on the report tasks, mean over the seeds that have "
        "them on their front.",
        "dim",
    )


def _alike(found: Sequence[Front]) -> dict[str, list[Front]]:
    """Fronts of all seeds by title; snapshot selectors that leave the same share one."""
    cells: dict[tuple[str, str, str], list[Front]] = {}
    for one in found:
        cells.setdefault((one.method, one.selector, one.snapshot), []).append(one)
    groups: dict[object, tuple[list[str], list[Front]]] = {}
    for (method, selector, snapshot), own in cells.items():
        key = (method, selector, own[0].oracle, tuple((one.seed, one.points) for one in own))
        groups.setdefault(repr(key), ([], own))[0].append(snapshot)
    return {
        f"{own[0].method}, {', '.join(names)} / {own[0].selector}"
        f"{ORACLE if own[0].oracle else ''}": own
        for names, own in groups.values()
    }


def _order(methods: Sequence[MethodStability]) -> str:
    return " > ".join(one.method for one in methods)


def _worst(methods: Sequence[MethodStability]) -> str:
    return " / ".join(wording.percent(one.worst) for one in methods)


def _chances(methods: Sequence[MethodStability]) -> str:
    chances = [one.probability_best for one in methods]
    return " / ".join("-" if chance is None else f"{100 * chance:.0f}" for chance in chances)


def _share(one: Agreement | None) -> str:
    if one is None:
        return "-"
    return f"{one.same}/{one.of}" if one.of < 100 else f"{100 * one.same / one.of:.0f} %"


def _key(report: Report, several: bool) -> str:
    worst = "worst seed: NovelGen of the worst seed, by which the MetaDL challenge ranks. "
    if not several:
        return worst.rstrip()
    counts = (
        "seeds, tasks, strategies: how many rankings by one seed alone, on resampled tasks with "
        "the selection repeated, and under the other strategies that are no oracles order the "
        "methods alike."
    )
    if not report.resampled:
        return f"{worst}{counts} No tasks were resampled; `--bootstrap 1000` does that."
    chance = "best: chance to be the best method over resampled tasks and seeds. "
    return worst + chance + counts


def _budget_table(points: Sequence[BudgetPoint]) -> Table:
    table = plain_table()
    table.add_column("budget", justify="right", no_wrap=True)
    curves = list(dict.fromkeys((point.snapshot, point.allocation) for point in points))
    for snapshot, allocation in curves:
        table.add_column(f"{snapshot}\n{allocation}", justify="right", overflow="fold")
    found = {(p.snapshot, p.allocation, p.budget): p for p in points}
    for budget in sorted({point.budget for point in points}):
        cells = [found.get((*curve, budget)) for curve in curves]
        shown = ["-" if one is None else wording.percent(one.regret.mean) for one in cells]
        table.add_row(str(budget), *shown)
    return table


def _front_table(own: Sequence[Front]) -> Table:
    table = plain_table()
    table.add_column("configuration", overflow="fold")
    for name in ("BaseGen", "NovelGen", "seeds"):
        table.add_column(name, justify="right", no_wrap=True)
    kept = [point for front in own for point in front.kept]
    rows = []
    for configuration in dict.fromkeys(point.configuration for point in kept):
        points = [point for point in kept if point.configuration == configuration]
        base, novel = (
            sum(point.report[m] for point in points) / len(points) for m in ("base", "novel")
        )
        name = wording.values(points[0].hyperparameters) or "the only one"
        rows.append((novel, name, base, len(points)))
    for novel, name, base, count in sorted(rows, key=lambda row: row[0]):
        cells = wording.percent(base), wording.percent(novel), f"{count}/{len(own)}"
        table.add_row(name, *cells)
    return table
