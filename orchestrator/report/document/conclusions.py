"""The tables on conclusions: differences, their stability, ranks, budgets, and fronts."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from fsl_sweep.orchestrator.records.measures import SHOWN_AS
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
from fsl_sweep.orchestrator.selection.methods import PREDICTORS, MethodRankCorrelation, by_method
from fsl_sweep.orchestrator.selection.results import Front
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS

FRONTS = (
    "Configurations that no other beats in one of the two without losing in the other, by the "
    "selection tasks; means over all seeds on the report tasks."
)
TRAINED_AGAIN = "{} better", "undecided"
THESE_SNAPSHOTS = "snapshots of {} score higher", "not told apart"
"""Of the better one, and of neither: words that do not mistake one kind of claim for the other."""

CHANCE = "their chances to be best, %"
ENDS = blocks.numbers(["difference", "95 % from", "95 % to", "p (Holm)"])


def differences(report: RunContent) -> Iterable[blocks.Block]:
    """Return every pair of methods over seeds, by strategies whose selection was repeated."""
    written = report.written(report.differences)
    known = [pair for pair in written if not isnan(pair.result.effect.low)]
    shown = [
        pair
        for pair in known
        if {(pair.a, pair.strategy), (pair.b, pair.strategy)} <= report.repeated.keys()
    ]
    if shown:
        yield _pairs(report, shown, "trained again", TRAINED_AGAIN)
        yield from _left_out(report, len(report.differences) - len(written))
    drawing = [cell for cell in report.summaries if not cell.draws_nothing]
    single = dict.fromkeys(cell.method for cell in drawing if len(cell.choices) == 1)
    if single and report.differences:
        names = ", ".join(single)
        yield blocks.Paragraph(
            f"No claim about {names}: one seed says nothing about training again."
        )
    if len(shown) < len(known):
        repeated = bool(report.resampled) and report.partly is None
        yield blocks.Paragraph(
            wording.claims(report.summaries, repeated, report.partly, report.info.places)
        )


def comparisons(report: RunContent) -> Iterable[blocks.Block]:
    """Return every pair of methods by their trained snapshots."""
    if not report.comparisons:
        return
    yield blocks.Paragraph(
        "About the snapshots that were trained, and no claim about training again."
    )
    written = report.written(report.comparisons)
    yield _pairs(report, written, "these snapshots", THESE_SNAPSHOTS)
    yield from _left_out(report, len(report.comparisons) - len(written))


def _left_out(report: RunContent, count: int) -> Iterable[blocks.Block]:
    if count:
        yield blocks.Paragraph(
            f"Of {len(report.selected.methods)} methods these are the pairs with the best method "
            f"of their strategy. `--pairs all` shows {count:,} more; all were corrected together.",
            "note",
        )


def _pairs(
    report: RunContent, pairs: Sequence[MethodComparison], head: str, verdicts: tuple[str, str]
) -> blocks.Table:
    """Return a group for each pair of methods, named with their complete seeds."""
    groups: list[blocks.Group] = []
    fixed = {cell.method for cell in report.summaries if cell.draws_nothing}
    for alike in blocks.grouped(pairs, lambda pair: (pair.a, pair.b)):
        both = alike[0].a, alike[0].b
        names = " minus ".join(map(report.named, both))
        seeds = dict(zip(both, alike[0].result.seeds or (), strict=False))
        over = f"over {wording.over_seeds(seeds, fixed)}" if seeds else "on common tasks"
        rows = strategy_rows((pair.strategy, _compared(pair, verdicts)) for pair in alike)
        groups.append(blocks.Group(f"{names}, {over}", rows))
    return blocks.Table((*STRATEGY, *blocks.words(head), *ENDS), tuple(groups))


def _compared(pair: MethodComparison, verdicts: tuple[str, str]) -> tuple[str, ...]:
    """Write the verdict on the better of the two, or on neither; the effect, its interval and p."""
    result, effect, rope = pair.result, pair.result.effect, pair.result.rope
    verdict = {
        "better": verdicts[0].format(pair.a),
        "worse": verdicts[0].format(pair.b),
        "equivalent": f"alike within {wording.points(rope)} points" if rope else "alike",
        "undecided": verdicts[1],
    }[result.verdict]
    ends = (wording.bounded(end) for end in (effect.low, effect.high))
    shown = (f"{100 * value:+.2f}" for value in (effect.mean, *ends))
    return (verdict, *shown, wording.p_value(result.p_adjusted))


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
        "their worst seeds, %": " / ".join(wording.percent(method.worst) for method in methods),
        CHANCE: " / ".join(f"{chance:.0f}" for chance in chances) if known else "-",
    } | {f"same order by {name}": _share(agreement) for name, agreement in shares.items()}


def _share(agreement: Agreement | None) -> str:
    if agreement is None:
        return "-"
    same, of = agreement.same, agreement.of
    return f"{same}/{of}" if of < 100 else f"{100 * same / of:.0f} %"


def ranks(reports: Mapping[str, RunContent]) -> Iterable[blocks.Block]:
    """Return a row for each benchmark, method and window; ``reports`` are by benchmark."""
    several = len(reports) > 1
    rows: list[list[str]] = []
    for benchmark, report in reports.items():
        correlations = by_method(report.rank_correlations)
        for cells in blocks.grouped(correlations, lambda cell: (cell.method, cell.last)):
            last, by_measure = cells[0].last, {cell.measure: cell for cell in cells}
            texts = [benchmark] * several
            texts += [report.named(cells[0].method), "all" if last is None else f"last {last}"]
            for measure in PREDICTORS:
                texts += _ranked(by_measure.get(measure))
            rows.append([*texts, str(max(cell.trials for cell in cells))])
    if not rows:
        return
    names = [SHOWN_AS[measure] for measure in PREDICTORS]
    heads = [f"{name}: {which}" for name in names for which in ("mean", "+- seeds", "trials from")]
    columns = blocks.words(*["benchmark"] * several, "method", "epochs") + blocks.numbers(
        [*heads, "trials"]
    )
    yield blocks.table(columns, rows)
    yield blocks.Paragraph(
        "Mean over seeds of the mean over configurations; of two seeds both values. A trial in "
        "which a measure never changes has no rank correlation.",
        "note",
    )


def _ranked(correlation: MethodRankCorrelation | None) -> list[str]:
    """Write the mean, half of the interval or both seeds, and the range over trials."""
    if correlation is None:
        return ["-"] * 3
    tau, seeds = correlation.tau, correlation.by_seed
    half = (tau.high - tau.low) / 2
    shown = "-" if isnan(half) else f"{half:.2f}" if half <= 1 else "> 1"
    if len(seeds) == 2:
        shown = ", ".join(f"{value:+.2f}" for value in seeds)
    return [f"{tau.mean:+.2f}", shown, f"{correlation.least:+.2f} to {correlation.most:+.2f}"]


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
    by = {f.selector: f"{f.selector}{' (oracle)' * f.oracle}" for f in report.selected.fronts}
    rows = {(of[0].method, by[of[0].selector], of[0].snapshot): _front(of) for of in cells}
    groups: list[blocks.Group] = []
    for alike in blocks.grouped(rows, lambda key: (*key[:2], rows[key])):
        method, selector, _ = alike[0]
        names = ", ".join(wording.snapshot_by(snapshot) for *_, snapshot in alike)
        title = f"{report.named(method)}: snapshot by {names}; front by {selector}"
        groups.append(blocks.Group(title, rows[alike[0]]))
    heads = ["BaseGen", "NovelGen", "on the front of seeds"]
    yield blocks.Table(blocks.words("configuration") + blocks.numbers(heads), tuple(groups))
    yield blocks.Paragraph(FRONTS, "note")


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
