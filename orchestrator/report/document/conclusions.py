"""The tables on conclusions: comparisons, their stability, budgets, and fronts."""

from collections.abc import Iterable, Sequence
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Bullets,
    Group,
    Paragraph,
    Row,
    Table,
    grouped,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection.comparison import MethodComparison
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
    "as measured on the selection tasks; percent on the report tasks, mean over all seeds, - where "
    "one is not measured. seeds: how many of them have it on their front."
)


def comparisons(report: Report) -> Iterable[Block]:
    """Every pair of methods under each strategy, and how the means rank the methods."""
    if not report.comparisons:
        return
    pairs = grouped(report.comparisons, lambda one: (one.a, one.b))
    groups = [Group(f"{own[0].a} vs {own[0].b}", tuple(_pair(own))) for own in pairs]
    columns = words("snapshot / config", "these snapshots")
    columns += numbers(["difference", "low", "high", "p (Holm)"])
    yield Table(columns, tuple(groups))
    yield Paragraph(_comparing(report), "note")
    of = "" if report.base_weight is None else f" of {wording.mixture(report.base_weight)}"
    ranked = f"Means{of} rank these snapshots of the methods"
    if report.ranking_survives is not False:
        order = " > ".join(report.rankings[0].methods)
        decided = sum(c.result.verdict in ("better", "worse") for c in report.comparisons)
        yield Paragraph(
            f"{ranked} alike under every strategy, {order}; in {decided} of "
            f"{len(report.comparisons)} comparisons they differ."
        )
        return
    yield Paragraph(f"{ranked} differently from strategy to strategy:", "alarm")
    orders = grouped(report.rankings, lambda one: one.methods)
    names = [", ".join(wording.starred(one.strategy) for one in own) for own in orders]
    items = (f"{' > '.join(o[0].methods)}: {name}" for o, name in zip(orders, names, strict=True))
    yield Bullets(tuple(items))


def _pair(own: Sequence[MethodComparison]) -> Iterable[Row]:
    """Strategies with the same result share a row; oracles have their own."""
    for group in grouped(own, lambda one: (one.strategy.oracle, _verdict(one))):
        name = wording.strategies([one.strategy for one in group])
        weight = "reference" if group[0].strategy.oracle else ""
        yield Row((name, *_verdict(group[0])), weight)


def _verdict(one: MethodComparison) -> tuple[str, ...]:
    found, effect = one.result, one.result.effect
    points = [f"{100 * end:+.2f}" for end in (effect.mean, effect.low, effect.high)]
    return (found.verdict, *points, f"{found.p_adjusted:.3g}")


def _comparing(report: Report) -> str:
    """What the verdicts are, and where to read about training again."""
    paired = "paired on the common report tasks, in percentage points; "
    if report.base_weight is not None:
        paired = (
            f"by {wording.full_mixture(report.base_weight)}: differences are paired on the common "
            "report tasks of each of the two, which were sampled separately, and their variances "
            "add (degrees of freedom are Welch's); in percentage points; "
        )
    if max(summary.novel.n for summary in report.summaries) == 1:
        again = "that takes more than one seed"
    else:
        again = "`select` above does"
        if not report.resampled:
            again = "`select` does, with `--bootstrap 1000`"
    return (
        "Whether these snapshots differ, those chosen of the first method from those of the "
        f"second, {paired}verdicts at 95 % after Holm's correction over the pairs of a strategy. "
        f"They say nothing about training the methods again: {again}."
    )


def stability(report: Report) -> Iterable[Block]:
    """What each strategy's ranking of methods survives; equal rows once."""
    if not report.stability:
        return
    several = any(len(one.methods) > 1 for one in report.stability)
    chances = any(m.probability_best is not None for one in report.stability for m in one.methods)

    def row(one: Stability) -> tuple[str, ...]:
        order = " > ".join(method.method for method in one.methods)
        return (order, *_cells(one, several, chances).values())

    lines: list[Row] = []
    for own in grouped(report.stability, lambda one: (one.strategy.oracle, row(one))):
        names = "\n".join(wording.starred(one.strategy) for one in own)
        weight = "reference" if own[0].strategy.oracle else ""
        lines.append(Row((names, *row(own[0])), weight))
    columns = words("snapshot / config", "methods, best first" if several else "method")
    titles = numbers(list(_cells(report.stability[0], several, chances)))
    yield Table(columns + titles, (Group("", tuple(lines)),))
    yield Paragraph(_stability(report, several, chances), "note")


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


def _stability(report: Report, several: bool, chances: bool) -> str:
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
        how = (
            "`--bootstrap 1000` does that"
            if report.partly is None
            else "that needs every snapshot measured"
        )
        return f"{worst} {counts} No tasks were resampled; {how}."
    if not chances:
        return f"{worst} {counts}"
    chance = "best: chance to be the best method over resampled tasks and seeds"
    if max(summary.novel.n for summary in report.summaries) < FEW_SEEDS:
        chance += "; with so few seeds, overconfident"
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
    cells = grouped(report.selected.fronts, lambda one: (one.method, one.selector, one.snapshot))

    def same(own: Sequence[Front]) -> str:
        points = [(one.seed, one.points) for one in own]
        return repr((own[0].method, own[0].selector, own[0].oracle, points))

    groups: list[Group] = []
    for alike in grouped(cells, same):
        first = alike[0][0]
        names = ", ".join(own[0].snapshot for own in alike)
        mark = wording.ORACLE if first.oracle else ""
        title = f"{first.method}, {names} / {first.selector}{mark}"
        groups.append(Group(title, tuple(map(Row, _front(alike[0])))))
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
    return [row for _, row in sorted(rows, key=lambda row: (isnan(row[0]), row[0]))]


def ensembles(report: Report) -> Iterable[Block]:
    """The votes of snapshots, beside the best of them."""
    rows = [
        Row(
            (
                one.method,
                str(one.size),
                wording.percent(one.novel.mean),
                wording.spread(one.novel, [novel for novel, _ in one.by_seed]),
                f"{100 * one.gain.mean:+.2f}",
                wording.spread(one.gain, [gain for _, gain in one.by_seed]),
                wording.percent(one.base.mean),
                wording.percent(one.val.mean),
            )
        )
        for one in report.ensembles
    ]
    if rows:
        titles = ["votes", "NovelGen", "+- seeds", "over the best", "+- seeds", "BaseGen", "ValGen"]
        yield Table(words("method") + numbers(titles), (Group("", tuple(rows)),))
        yield Paragraph(
            "The vote of the best snapshots by ValGen, of all configurations of a method and seed, "
            'from their recorded answers; "over the best" compares it with the best of them.',
            "note",
        )
