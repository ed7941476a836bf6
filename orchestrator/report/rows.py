"""What stands in the cells of the report's tables, whatever the format."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.groups import ORACLE
from fsl_sweep.orchestrator.selected import Front
from fsl_sweep.orchestrator.stability import Agreement, MethodStability, Stability
from fsl_sweep.orchestrator.summary import Summary

TAUS = ("val mean", "least", "most", "base mean", "least", "most", "trials")


@dataclass(frozen=True)
class StabilityRow:
    """Strategies whose rankings look alike: cells by the title of their column."""

    strategies: tuple[str, ...]
    oracle: bool
    order: str
    cells: dict[str, str]


def of_strategies(report: Report, group: Sequence[Summary]) -> dict[str, str]:
    """The numbers of a row of the table of strategies, by the title of their column.

    The strategies of the row chose alike, so that all is equal of them but what repeating the
    selection gives.
    """
    summary = group[0]
    row = {
        wording.metric(report.base_weight): wording.percent(summary.reported.mean),
        "seeds": wording.spread(summary.reported, [c.reported.mean for c in summary.choices]),
        "tasks": wording.half_width(summary.reported_tasks),
    }
    if report.resampled:
        row["select"] = _selecting(report, group)
    if report.base_weight is not None:
        row["NovelGen"] = wording.percent(summary.novel.mean)
    return row | {
        "BaseGen": wording.percent(summary.base.mean),
        "ValGen": wording.percent(summary.val.mean),
        "regret": "-" if summary.regret is None else wording.percent(summary.regret.mean),
        "evals": str(summary.novel_evaluations),
    }


def _selecting(report: Report, group: Sequence[Summary]) -> str:
    """The half-width of the interval that repeats the selection; the least and most of several."""
    own = {(one.method, one.strategy) for one in group}
    cells = [one for one in report.resampled if (one.method, one.strategy) in own]
    found = [one.result if report.base_weight is None else one.mixed for one in cells]
    known = [one for one in found if one is not None and np.isfinite(one.low)]
    if not known:
        return "-"
    known.sort(key=lambda one: one.high - one.low)
    return " to ".join(dict.fromkeys(map(wording.half_width, (known[0], known[-1]))))


def of_rank_correlations(report: Report) -> list[tuple[str, ...]]:
    """Method, window and ``TAUS``: Kendall's tau over trials, its mean, least and most."""
    rows = report.rank_correlations
    found: list[tuple[str, ...]] = []
    for method, last in dict.fromkeys((row.method, row.result.last) for row in rows):
        cells: list[str] = []
        count = 0
        for measure in ("val", "base"):
            of = (method, measure, last)
            own = [r.result.tau for r in rows if (r.method, r.measure, r.result.last) == of]
            taus = np.array(own)[np.isfinite(own)]
            count = max(count, len(own))
            shown = (taus.mean(), taus.min(), taus.max()) if len(taus) else ()
            cells += [f"{x:+.2f}" for x in shown] or ["-"] * 3
        found.append((method, "all" if last is None else f"last {last}", *cells, str(count)))
    return found


def several_methods(report: Report) -> bool:
    """Whether any strategy ranks more than one method."""
    return any(len(one.methods) > 1 for one in report.stability)


def chances_known(report: Report) -> bool:
    """Whether any method's chance to be best is known."""
    return any(m.probability_best is not None for one in report.stability for m in one.methods)


def of_stability(report: Report) -> list[StabilityRow]:
    """What each strategy's ranking of methods survives; equal rows once."""
    several, chances = several_methods(report), chances_known(report)
    grouped: dict[tuple[object, ...], list[Stability]] = {}
    for one in report.stability:
        cells = _stability_cells(one, several, chances)
        key = (_order(one.methods), tuple(cells.items()), one.strategy.oracle)
        grouped.setdefault(key, []).append(one)
    return [
        StabilityRow(
            strategies=tuple(f"{s.strategy}{ORACLE if s.strategy.oracle else ''}" for s in own),
            oracle=own[0].strategy.oracle,
            order=_order(own[0].methods),
            cells=_stability_cells(own[0], several, chances),
        )
        for own in grouped.values()
    ]


def of_budgets(points: Sequence[BudgetPoint]) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """One method's curves (snapshot selector, allocation), and a row of regrets a budget."""
    curves = list(dict.fromkeys((point.snapshot, point.allocation) for point in points))
    found = {(p.snapshot, p.allocation, p.budget): p for p in points}
    rows: list[list[str]] = []
    for budget in sorted({point.budget for point in points}):
        cells = [found.get((*curve, budget)) for curve in curves]
        shown = ["-" if one is None else wording.percent(one.regret.mean) for one in cells]
        rows.append([str(budget), *shown])
    return curves, rows


def fronts_alike(found: Sequence[Front]) -> dict[str, list[Front]]:
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


def of_front(own: Sequence[Front]) -> list[tuple[str, str, str, str]]:
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


def _stability_cells(one: Stability, several: bool, chances: bool) -> dict[str, str]:
    cells = {"worst seed": " / ".join(wording.percent(method.worst) for method in one.methods)}
    if not several:
        return cells
    if chances:
        cells["best, %"] = _chances(one.methods)
    shares = {"seeds": one.seeds, "tasks": one.tasks, "strategies": one.strategies}
    return cells | {name: _share(found) for name, found in shares.items()}


def _order(methods: Sequence[MethodStability]) -> str:
    return " > ".join(one.method for one in methods)


def _chances(methods: Sequence[MethodStability]) -> str:
    chances = [one.probability_best for one in methods]
    return " / ".join("-" if chance is None else f"{100 * chance:.0f}" for chance in chances)


def _share(one: Agreement | None) -> str:
    if one is None:
        return "-"
    return f"{one.same}/{one.of}" if one.of < 100 else f"{100 * one.same / one.of:.0f} %"
