"""The tables on conclusions: differences, their stability, budgets, and fronts."""

from collections.abc import Iterable, Sequence
from math import isnan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document import blocks
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
TRAINED_AGAIN = "{} better", "undecided"
THESE_SNAPSHOTS = "snapshots of {} score higher", "not told apart"
"""Of the better one, and of neither: words that do not mistake one kind of claim for the other."""

CHANCE = "chance to be the best, %"
ENDS = blocks.numbers(["difference", "95 % from", "95 % to", "p (Holm)"])


Pair = MethodComparison


def _minus(report: RunContent, pair: Pair) -> str:
    """Name a pair, each method with how many of its seeds are complete unless all are."""
    return " minus ".join(map(report.named, (pair.a, pair.b)))


def differences(report: RunContent) -> Iterable[blocks.Block]:
    """Return every pair of methods over seeds, by strategies whose selection was repeated."""
    known = [pair for pair in report.differences if not isnan(pair.result.effect.low)]
    shown = [
        pair
        for pair in known
        if {(pair.a, pair.strategy), (pair.b, pair.strategy)} <= report.repeated.keys()
    ]
    groups: list[blocks.Group] = []
    for pairs in blocks.grouped(shown, lambda pair: (pair.a, pair.b)):
        counts = " and ".join(map(str, dict.fromkeys(pairs[0].result.seeds or ())))
        rows = strategy_rows((pair.strategy, _compared(pair, TRAINED_AGAIN)) for pair in pairs)
        groups.append(blocks.Group(f"{_minus(report, pairs[0])}, over {counts} seeds", rows))
    if groups:
        yield blocks.Table((*STRATEGY, *blocks.words("trained again"), *ENDS), tuple(groups))
    single = dict.fromkeys(cell.method for cell in report.summaries if len(cell.choices) == 1)
    if single and report.differences:
        names = ", ".join(single)
        yield blocks.Paragraph(
            f"No claim about {names}: one seed says nothing about training again."
        )
    if len(shown) < len(known):
        repeated = bool(report.resampled) and report.partly is None
        yield blocks.Paragraph(wording.claims(report.summaries, repeated, report.partly))


def comparisons(report: RunContent) -> Iterable[blocks.Block]:
    """Return every pair of methods by their trained snapshots."""
    if not report.comparisons:
        return
    groups: list[blocks.Group] = []
    for pairs in blocks.grouped(report.comparisons, lambda pair: (pair.a, pair.b)):
        rows = strategy_rows((pair.strategy, _compared(pair, THESE_SNAPSHOTS)) for pair in pairs)
        groups.append(blocks.Group(f"{_minus(report, pairs[0])}, on common tasks", rows))
    yield blocks.Paragraph(
        "About the snapshots that were trained, and no claim about training again."
    )
    yield blocks.Table((*STRATEGY, *blocks.words("these snapshots"), *ENDS), tuple(groups))


def _compared(pair: MethodComparison, verdicts: tuple[str, str]) -> tuple[str, ...]:
    """Write the verdict on the better of the two, or on neither; the effect, its interval and p."""
    result, effect, rope = pair.result, pair.result.effect, pair.result.rope
    verdict = {
        "better": verdicts[0].format(pair.a),
        "worse": verdicts[0].format(pair.b),
        "equivalent": f"alike within {wording.points(rope)} points" if rope else "alike",
        "undecided": verdicts[1],
    }[result.verdict]
    ends = (f"{100 * end:+.2f}" for end in (effect.mean, effect.low, effect.high))
    return (verdict, *ends, wording.p_value(result.p_adjusted))


def stability(report: RunContent) -> Iterable[blocks.Block]:
    """Return what each strategy's ranking of methods survives; equal rows once."""
    lines = {line.strategy: _stable(line) for line in report.stability}
    if not lines:
        return
    # Of a single method there is no order, and without resamples no other tasks.
    names = next(iter(lines.values()))
    shown = [name for name in names if any(cells[name] != "-" for cells in lines.values())]
    rows = strategy_rows((s, [cells[name] for name in shown]) for s, cells in lines.items())
    yield blocks.table((*STRATEGY, *blocks.words(shown[0]), *blocks.numbers(shown[1:])), rows)
    if not report.resampled and report.differences:
        how = "that needs every snapshot measured" if report.partly else "`--bootstrap 1000` does"
        yield blocks.Paragraph(f"No other tasks were drawn: {how}.", "note")
    elif CHANCE in shown and max(cell.novel.n for cell in report.summaries) < FEW_SEEDS:
        yield blocks.Paragraph(
            "The chance to be the best is overconfident with so few seeds.", "note"
        )


def _stable(stability: Stability) -> dict[str, str]:
    """Return the cells of a row by the name of their column."""
    methods = stability.methods
    chances = [100 * (method.probability_best or 0) for method in methods]
    known = len(chances) > 1 and methods[0].probability_best is not None
    shares = {
        "single seeds": stability.seeds,
        "other tasks": stability.tasks,
        "strategies": stability.strategies,
    }
    return {
        "methods, best mean first": " > ".join(method.method for method in methods),
        "worst seed, %": " / ".join(wording.percent(method.worst) for method in methods),
        CHANCE: " / ".join(f"{chance:.0f}" for chance in chances) if known else "-",
    } | {f"same order by {name}": _share(agreement) for name, agreement in shares.items()}


def _share(agreement: Agreement | None) -> str:
    if agreement is None:
        return "-"
    same, of = agreement.same, agreement.of
    return f"{same}/{of}" if of < 100 else f"{100 * same / of:.0f} %"


def budgets(report: RunContent) -> Iterable[blocks.Block]:
    """Return the regret of the budgeted oracle by budget, a table for each method."""
    for points in blocks.grouped(report.budget_curve, lambda point: point.method):
        curves = list(dict.fromkeys((point.snapshot, point.allocation) for point in points))
        regrets = {(p.snapshot, p.allocation, p.budget): p.regret.mean for p in points}
        rows = []
        for budget in sorted({point.budget for point in points}):
            cells = [regrets.get((*curve, budget)) for curve in curves]
            shown = ["-" if regret is None else wording.percent(regret) for regret in cells]
            rows.append(blocks.Row((str(budget), *shown)))
        heads = [f"snapshot by {wording.snapshot_by(name)}, {kind}" for name, kind in curves]
        columns = blocks.numbers(["novel looks of each seed", *heads])
        title = f"{report.named(points[0].method)}: regret"
        yield blocks.Table(columns, (blocks.Group(title, tuple(rows)),))


def fronts(report: RunContent) -> Iterable[blocks.Block]:
    """Return the configurations on each front; snapshot selectors that leave the same share one."""
    if not report.selected.fronts:
        return
    cells = blocks.grouped(
        report.selected.fronts, lambda front: (front.method, front.selector, front.snapshot)
    )
    rows = {(of[0].method, _by(of[0]), of[0].snapshot): _front(of) for of in cells}
    groups: list[blocks.Group] = []
    for alike in blocks.grouped(rows, lambda key: (*key[:2], rows[key])):
        method, by, _ = alike[0]
        names = ", ".join(wording.snapshot_by(snapshot) for *_, snapshot in alike)
        title = f"{report.named(method)}: snapshot by {names}; front by {by}"
        groups.append(blocks.Group(title, rows[alike[0]]))
    heads = ["BaseGen", "NovelGen", "on the front of seeds"]
    yield blocks.Table(blocks.words("configuration") + blocks.numbers(heads), tuple(groups))
    yield blocks.Paragraph(FRONTS, "note")


def _by(front: Front) -> str:
    return f"{front.selector}{' (oracle)' if front.oracle else ''}"


def _front(seeds: Sequence[Front]) -> tuple[blocks.Row, ...]:
    """List what any seed keeps, by rising NovelGen: means over seeds, and how many keep it."""
    rows: list[tuple[float, blocks.Row]] = []
    every = [point for front in seeds for point in front.points]
    kept = [point.configuration for front in seeds for point in front.kept]
    for configuration in dict.fromkeys(kept):
        points = [point for point in every if point.configuration == configuration]
        base, novel = (sum(p.mean(m) for p in points) / len(points) for m in ("base", "novel"))
        name = wording.values(points[0].hyperparameters) or "the only one"
        share = f"{kept.count(configuration)}/{len(seeds)}"
        cells = name, wording.percent(base), wording.percent(novel), share
        rows.append((novel, blocks.Row(cells)))
    return tuple(row for _, row in sorted(rows, key=lambda row: (isnan(row[0]), row[0])))


def ensembles(report: RunContent) -> Iterable[blocks.Block]:
    """Return the votes of snapshots, beside the best of them."""
    rows = [
        [
            report.named(ensemble.method),
            str(ensemble.size),
            wording.percent(ensemble.novel.mean),
            wording.spread(ensemble.novel, [novel for novel, _ in ensemble.by_seed]),
            f"{100 * ensemble.gain.mean:+.2f}",
            wording.spread(ensemble.gain, [gain for _, gain in ensemble.by_seed]),
            wording.percent(ensemble.base.mean),
            wording.percent(ensemble.val.mean),
        ]
        for ensemble in report.ensembles
    ]
    if rows:
        each = over("seed", [len(ensemble.by_seed) for ensemble in report.ensembles])
        titles = ["votes", "NovelGen", each, "above the best of them", each, "BaseGen", "ValGen"]
        yield blocks.table(blocks.words("method") + blocks.numbers(titles), rows)
