"""The tables on uncertainty: stability of conclusions, budgets, and fronts."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Group,
    Paragraph,
    Row,
    Table,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection.results import Front
from fsl_sweep.orchestrator.selection.stability import Agreement, Stability
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS

BUDGETS = (
    "Regret in percentage points against oracle / oracle, mean over seeds, after at most so "
    "many novel evaluations of each seed. One evaluation is one snapshot on all novel "
    "selection tasks."
)
FRONTS = (
    "Configurations that for a seed no other beats in one of the two without losing in the other, "
    "as measured on the selection tasks; percent on the report tasks, mean over all seeds. seeds: "
    "how many of them have it on their front."
)


def stability(report: Report) -> Iterable[Block]:
    """What each strategy's ranking of methods survives; equal rows once."""
    if not report.stability:
        return
    several = any(len(one.methods) > 1 for one in report.stability)
    chances = any(m.probability_best is not None for one in report.stability for m in one.methods)
    alike: dict[tuple[object, ...], tuple[dict[str, str], list[str]]] = {}
    for one in report.stability:
        order = " > ".join(method.method for method in one.methods)
        cells = _cells(one, several, chances)
        key = (order, one.strategy.oracle, *cells.values())
        mark = wording.ORACLE if one.strategy.oracle else ""
        alike.setdefault(key, (cells, []))[1].append(f"{one.strategy}{mark}")
    lines = [
        Row(("\n".join(names), str(order), *cells.values()), "reference" if oracle else "")
        for (order, oracle, *_), (cells, names) in alike.items()
    ]
    columns = words("snapshot / config", "methods, best first" if several else "method")
    titles = numbers(list(_cells(report.stability[0], several, chances)))
    yield Table(columns + titles, (Group("", tuple(lines)),))
    yield Paragraph(_explained(report, several, chances), "note")


def _cells(one: Stability, several: bool, chances: bool) -> dict[str, str]:
    cells = {"worst seed": " / ".join(wording.percent(method.worst) for method in one.methods)}
    if several and chances:
        cells["best, %"] = " / ".join(
            "-" if method.probability_best is None else f"{100 * method.probability_best:.0f}"
            for method in one.methods
        )
    shares = {"seeds": one.seeds, "tasks": one.tasks, "strategies": one.strategies}
    return cells | ({name: _share(found) for name, found in shares.items()} if several else {})


def _share(one: Agreement | None) -> str:
    if one is None:
        return "-"
    return f"{one.same}/{one.of}" if one.of < 100 else f"{100 * one.same / one.of:.0f} %"


def _explained(report: Report, several: bool, chances: bool) -> str:
    """What the columns of the table of stability mean."""
    metric = wording.metric(report.base_weight)
    worst = f"worst seed: {metric} of the worst seed, by which the MetaDL challenge ranks."
    if not several:
        return worst
    counts = (
        "seeds, tasks, strategies: how many rankings by a single seed, on resampled tasks with "
        "the selection repeated, and under the other strategies that are no oracles order the "
        "methods alike."
    )
    if not report.resampled:
        return f"{worst} {counts} No tasks were resampled; `--bootstrap 1000` does that."
    if not chances:
        return f"{worst} {counts}"
    chance = "best: chance to be the best method over resampled tasks and seeds"
    if max(summary.novel.n for summary in report.summaries) < FEW_SEEDS:
        chance += "; with so few seeds, surer of itself than it should be"
    return f"{worst} {chance}. {counts}"


def budgets(report: Report) -> Iterable[Block]:
    """Regret of the budgeted oracle by budget, a table for each method."""
    for method in dict.fromkeys(point.method for point in report.budget_curve):
        own = [point for point in report.budget_curve if point.method == method]
        curves = list(dict.fromkeys((point.snapshot, point.allocation) for point in own))
        found = {(p.snapshot, p.allocation, p.budget): p for p in own}
        lines = []
        for budget in sorted({point.budget for point in own}):
            cells = [found.get((*curve, budget)) for curve in curves]
            shown = ["-" if one is None else wording.percent(one.regret.mean) for one in cells]
            lines.append(Row((str(budget), *shown)))
        columns = numbers(["budget", *(f"{one}, {allocation}" for one, allocation in curves)])
        yield Table(columns, (Group(method, tuple(lines)),))
    if report.budget_curve:
        yield Paragraph(BUDGETS, "note")


def fronts(report: Report) -> Iterable[Block]:
    """The configurations on each front; snapshot selectors that leave the same share one."""
    if not report.selected.fronts:
        return
    cells: dict[tuple[str, str, str], list[Front]] = {}
    for one in report.selected.fronts:
        cells.setdefault((one.method, one.selector, one.snapshot), []).append(one)
    alike: dict[str, tuple[list[str], list[Front]]] = {}
    for (method, selector, snapshot), own in cells.items():
        key = (method, selector, own[0].oracle, tuple((one.seed, one.points) for one in own))
        alike.setdefault(repr(key), ([], own))[0].append(snapshot)
    groups = [
        Group(
            f"{own[0].method}, {', '.join(names)} / {own[0].selector}"
            f"{wording.ORACLE if own[0].oracle else ''}",
            tuple(Row(cells) for cells in _front(own)),
        )
        for names, own in alike.values()
    ]
    yield Table(words("configuration") + numbers(["BaseGen", "NovelGen", "seeds"]), tuple(groups))
    yield Paragraph(FRONTS, "note")


def _front(own: Sequence[Front]) -> list[tuple[str, str, str, str]]:
    """Configuration, BaseGen, NovelGen and seeds of what any seed keeps, by rising NovelGen."""
    rows: list[tuple[float, tuple[str, str, str, str]]] = []
    for configuration in dict.fromkeys(p.configuration for front in own for p in front.kept):
        points = [p for front in own for p in front.points if p.configuration == configuration]
        base, novel = (
            sum(point.report[m] for point in points) / len(points) for m in ("base", "novel")
        )
        name = wording.values(points[0].hyperparameters) or "the only one"
        seeds = f"{sum(point.kept for point in points)}/{len(own)}"
        rows.append((novel, (name, wording.percent(base), wording.percent(novel), seeds)))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]
