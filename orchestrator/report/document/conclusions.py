"""The tables on conclusions: differences, their stability, budgets, and fronts."""

from collections.abc import Iterable, Sequence
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Group,
    Paragraph,
    Row,
    Table,
    grouped,
    numbers,
    words,
)
from fsl_sweep.orchestrator.report.document.by_strategy import (
    STRATEGY,
    over,
    strategy_rows,
)
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison
from fsl_sweep.orchestrator.selection.comparing.stability import Agreement, Stability
from fsl_sweep.orchestrator.selection.results import Front
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS

FRONTS = (
    "Configurations that no other beats in one of the two without losing in the other, by the "
    "selection tasks; means over all seeds on the report tasks."
)
AGAIN = "{} better", "undecided"
THESE = "snapshots of {} score higher", "not told apart"
"""Of the better one, and of neither: words that do not mistake one kind of claim for the other."""

CHANCE = "chance to be the best, %"
ENDS = numbers(["difference", "95 % from", "95 % to", "p (Holm)"])


def _minus(report: Report, one: MethodComparison) -> str:
    """A pair by its names, each with how many of its seeds are whole unless all are."""
    return " minus ".join(map(report.named, (one.a, one.b)))


def differences(report: Report) -> Iterable[Block]:
    """Every pair of methods over seeds, under each strategy whose selection was repeated."""
    again = {(one.method, one.strategy) for one in report.resampled}
    whole = [one for one in report.differences if not isnan(one.result.effect.low)]
    found = [one for one in whole if {(one.a, one.strategy), (one.b, one.strategy)} <= again]
    groups: list[Group] = []
    for own in grouped(found, lambda one: (one.a, one.b)):
        counts = " and ".join(map(str, dict.fromkeys(own[0].result.seeds or ())))
        rows = strategy_rows((one.strategy, _compared(one, AGAIN)) for one in own)
        groups.append(Group(f"{_minus(report, own[0])}, over {counts} seeds", rows))
    if groups:
        yield Table((*STRATEGY, *words("trained again"), *ENDS), tuple(groups))
    single = dict.fromkeys(s.method for s in report.summaries if len(s.choices) == 1)
    if single and report.differences:
        names = ", ".join(single)
        yield Paragraph(f"No claim about {names}: one seed says nothing about training again.")
    if len(found) < len(whole):
        known = bool(report.resampled) and report.partly is None
        yield Paragraph(wording.claims(report.summaries, known, report.partly))


def comparisons(report: Report) -> Iterable[Block]:
    """Every pair of methods by their trained snapshots."""
    if not report.comparisons:
        return

    groups: list[Group] = []
    for own in grouped(report.comparisons, lambda one: (one.a, one.b)):
        rows = strategy_rows((one.strategy, _compared(one, THESE)) for one in own)
        groups.append(Group(f"{_minus(report, own[0])}, on common tasks", rows))
    yield Paragraph("About the snapshots that were trained, and no claim about training again.")
    yield Table((*STRATEGY, *words("these snapshots"), *ENDS), tuple(groups))


def _compared(one: MethodComparison, said: tuple[str, str]) -> tuple[str, ...]:
    """What is ``said`` of the better of the two, or of neither; the effect, its interval and p."""
    found, effect, rope = one.result, one.result.effect, one.result.rope
    verdict = {
        "better": said[0].format(one.a),
        "worse": said[0].format(one.b),
        "equivalent": f"alike within {wording.points(rope)} points" if rope else "alike",
        "undecided": said[1],
    }[found.verdict]
    ends = (f"{100 * end:+.2f}" for end in (effect.mean, effect.low, effect.high))
    return (verdict, *ends, wording.p_value(found.p_adjusted))


def stability(report: Report) -> Iterable[Block]:
    """What each strategy's ranking of methods survives; equal rows once."""
    found = [(one.strategy, _stable(one)) for one in report.stability]
    if not found:
        return
    # Of a single method there is no order, and without resamples no other tasks.
    shown = [name for name in found[0][1] if any(cells[name] != "-" for _, cells in found)]
    rows = strategy_rows((one, [cells[name] for name in shown]) for one, cells in found)
    yield Table((*STRATEGY, *words(shown[0]), *numbers(shown[1:])), (Group("", rows),))
    if not report.resampled and report.differences:
        how = "that needs every snapshot measured" if report.partly else "`--bootstrap 1000` does"
        yield Paragraph(f"No other tasks were drawn: {how}.", "note")
    elif CHANCE in shown and max(one.novel.n for one in report.summaries) < FEW_SEEDS:
        yield Paragraph("The chance to be the best is overconfident with so few seeds.", "note")


def _stable(one: Stability) -> dict[str, str]:
    """The cells of a row by the name of their column."""
    chances = [100 * (method.probability_best or 0) for method in one.methods]
    known = len(chances) > 1 and one.methods[0].probability_best is not None
    shares = {"single seeds": one.seeds, "other tasks": one.tasks, "strategies": one.strategies}
    return {
        "methods, best mean first": " > ".join(method.method for method in one.methods),
        "worst seed, %": " / ".join(wording.percent(method.worst) for method in one.methods),
        CHANCE: " / ".join(f"{chance:.0f}" for chance in chances) if known else "-",
    } | {f"same order by {name}": _share(found) for name, found in shares.items()}


def _share(one: Agreement | None) -> str:
    if one is None:
        return "-"
    return f"{one.same}/{one.of}" if one.of < 100 else f"{100 * one.same / one.of:.0f} %"


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
        heads = [f"snapshot by {wording.snapshot_by(one)}, {kind}" for one, kind in curves]
        columns = numbers(["novel looks of each seed", *heads])
        yield Table(columns, (Group(f"{report.named(method)}: regret", tuple(lines)),))


def fronts(report: Report) -> Iterable[Block]:
    """The configurations on each front; snapshot selectors that leave the same share one."""
    if not report.selected.fronts:
        return
    cells = grouped(report.selected.fronts, lambda one: (one.method, one.selector, one.snapshot))
    rows = {(own[0].method, _by(own[0]), own[0].snapshot): _front(own) for own in cells}
    groups: list[Group] = []
    for alike in grouped(rows, lambda key: (*key[:2], rows[key])):
        method, by, _ = alike[0]
        names = ", ".join(wording.snapshot_by(snapshot) for *_, snapshot in alike)
        title = f"{report.named(method)}: snapshot by {names}; front by {by}"
        groups.append(Group(title, rows[alike[0]]))
    heads = ["BaseGen", "NovelGen", "on the front of seeds"]
    yield Table(words("configuration") + numbers(heads), tuple(groups))
    yield Paragraph(FRONTS, "note")


def _by(one: Front) -> str:
    return f"{one.selector}{' (oracle)' if one.oracle else ''}"


def _front(own: Sequence[Front]) -> tuple[Row, ...]:
    """Configuration, BaseGen, NovelGen and seeds of what any seed keeps, by rising NovelGen."""
    rows: list[tuple[float, Row]] = []
    kept = [snapshot.configuration for front in own for snapshot in front.kept]
    every = [point for front in own for point in front.points]
    for configuration in dict.fromkeys(kept):
        points = [p for p in every if p.snapshot.configuration == configuration]
        base, novel = (
            sum(point.report[m] for point in points) / len(points) for m in ("base", "novel")
        )
        name = wording.values(points[0].snapshot.hyperparameters) or "the only one"
        seeds = f"{sum(point.kept for point in points)}/{len(own)}"
        cells = name, wording.percent(base), wording.percent(novel), seeds
        rows.append((novel, Row(cells)))
    return tuple(row for _, row in sorted(rows, key=lambda row: (isnan(row[0]), row[0])))


def ensembles(report: Report) -> Iterable[Block]:
    """The votes of snapshots, beside the best of them."""
    rows = [
        Row(
            (
                report.named(one.method),
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
        each = over("seed", [len(one.by_seed) for one in report.ensembles])
        titles = ["votes", "NovelGen", each, "above the best of them", each, "BaseGen", "ValGen"]
        yield Table(words("method") + numbers(titles), (Group("", tuple(rows)),))
