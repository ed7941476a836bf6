"""The tables of strategies: what each chose, under all protocols, and over all methods."""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.cautions import by_missing_loss
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document import blocks
from fsl_sweep.orchestrator.report.over_protocols import UnderProtocol
from fsl_sweep.orchestrator.selection.comparing.overtuning import Overtuning
from fsl_sweep.orchestrator.selection.comparing.strategies import StrategyResult
from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import SelectionBootstrap
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.text.printed import counted

STRATEGY = blocks.words("snapshot by", "configuration by")
"""The columns of ``strategy_rows``."""


def methods_and_strategies(report: RunContent) -> Iterable[blocks.Block]:
    """Return a matrix of snapshot by configuration for each method, and the numbers behind it.

    Where only a few pairs of selectors are strategies there is no matrix.
    """
    methods = blocks.grouped(report.summaries, lambda cell: cell.method)
    if methods:
        if not report.info.few:
            second = list(dict.fromkeys(s.hyperparameter for s in report.selected.strategies))
            heads = [f"configuration by {wording.configuration_by(name)}" for name in second]
            matrices = tuple(_matrix(report, cells, second) for cells in methods)
            yield blocks.Table((*blocks.words("snapshot by"), *blocks.numbers(heads)), matrices)
        yield blocks.Paragraph(_typed(report), "note")
        titles = blocks.numbers(list(cells_of(report, report.summaries[:1])))
        columns = (*STRATEGY, *titles, *blocks.words("chosen (epoch of each seed)"))
        yield blocks.Table(columns, tuple(_numbers(report, cells) for cells in methods))
        yield blocks.Paragraph(_explained(report), "note")


def left_out(report: RunContent) -> Iterable[str]:
    """Say what strategies have no row for; what is not done or not measured is in the banner."""
    lost: dict[str, list[tuple[str, str, int]]] = {}
    for gap in report.selected.left_out:
        if by_missing_loss(report, gap.method, gap.snapshot_selector):
            continue
        unplanned = gap.fold is not None and gap.trial is None
        listed = gap.epoch is not None and report.completeness.unmeasured
        if unplanned or (gap.snapshot_selector is not None and not listed):
            snapshot = gap.snapshot_selector or "cross-validated"
            strategy = f"{snapshot} / {gap.hyperparameter_selector or 'any'}"
            lost.setdefault(gap.reason, []).append((gap.method, strategy, gap.seed))
    for reason, cells in lost.items():
        every = [list(dict.fromkeys(names)) for names in zip(*cells, strict=True)]
        # In one line, where it is so of each method under each strategy with each seed.
        together = sorted(product(*every)) == sorted(cells)
        for names in [every] if together else [[[name] for name in cell] for cell in cells]:
            methods, strategies, seeds = (", ".join(map(str, several)) for several in names)
            several = "s" if len(names[2]) > 1 else ""
            yield f"Left out: {methods}; {strategies}; seed{several} {seeds}: {reason}"


def strategy_rows(cells: Iterable[tuple[Strategy, Iterable[str]]]) -> tuple[blocks.Row, ...]:
    """Return the names of strategies and their cells: equal cells in one row, oracles apart."""
    rows = [(strategy, tuple(texts)) for strategy, texts in cells]
    return tuple(
        blocks.Row((*names, *alike[0][1]), alike[0][0].oracle)
        for alike in blocks.grouped(rows, lambda row: (row[0].oracle, row[1]))
        for names in wording.strategies([strategy for strategy, _ in alike])
    )


def _matrix(report: RunContent, cells: Sequence[Summary], second: Sequence[str]) -> blocks.Group:
    """Show snapshot selectors by configuration selectors; those with equal cells share a row."""
    by_names = {(c.strategy.snapshot, c.strategy.hyperparameter): c for c in cells}
    names: dict[blocks.Row, list[str]] = {}
    for first in dict.fromkeys(snapshot for snapshot, _ in by_names):
        line = [by_names.get((first, name)) for name in second]
        texts = ("-" if cell is None else _cell(report, cell) for cell in line)
        oracle = all(cell.strategy.oracle for cell in line if cell is not None)
        names.setdefault(blocks.Row(tuple(texts), oracle), []).append(wording.snapshot_by(first))
    rows = [blocks.Row((", ".join(by), *row.cells), row.reference) for row, by in names.items()]
    method = cells[0].method
    shown = ""
    if len(cells[0].choices) == 2:
        shown = " (each seed)"
    elif any(repeated == method for repeated, _ in report.repeated):
        shown = f" {wording.SELECTION}"
    title = f"{report.named(method)}: {wording.metric(report.base_weight)}{shown}"
    return blocks.Group(title, tuple(rows))


def _cell(report: RunContent, cell: Summary) -> str:
    """Write what methods are compared by: of two seeds with both, else with the interval."""
    mean, lost = wording.percent(cell.reported.mean), _lost(cell)
    if len(cell.choices) == 2:
        both = ", ".join(f"{100 * choice.reported_mean:.1f}" for choice in cell.choices)
        return f"{mean} ({both}){lost}"
    intervals = _intervals(report, [cell])
    return f"{mean} +- {wording.half_width(intervals[0])}{lost}" if intervals else f"{mean}{lost}"


def _lost(cell: Summary) -> str:
    """Write ``; 1 of 3 seeds diverged`` where a cell lacks seeds."""
    lost, planned = len(cell.diverged), len(cell.diverged) + len(cell.choices)
    return f"; {lost} of {counted(planned, 'seed')} diverged" if lost else ""


def _typed(report: RunContent) -> str:
    """Say what a sweep file calls what the tables name in words."""
    strategies = report.selected.strategies
    names = [(strategy.snapshot, wording.snapshot_by(strategy.snapshot)) for strategy in strategies]
    for name in (strategy.hyperparameter for strategy in strategies):
        names.append((name, wording.configuration_by(name)))
    shown = [f"{name} = {by}" for name, by in dict.fromkeys(names) if name != by]
    example = report.lead or strategies[0]
    shown.append(f"{example} = {wording.on_one_line([example])}")
    every = len(report.info.snapshot) * len(report.info.hyperparameter)
    more = ""
    if report.info.few and every > len(strategies):
        more = f" `--snapshot all` shows all {every} pairs of selectors."
    return f"Names in a sweep file: {', '.join(shown)}.{more}"


def _numbers(report: RunContent, cells: Sequence[Summary]) -> blocks.Group:
    rows = [
        (
            cell.strategy,
            (*cells_of(report, alike).values(), f"{wording.choices(cell.choices)}{_lost(cell)}"),
        )
        for alike in same_choices(cells)
        for cell in alike
    ]
    return blocks.Group(report.named(cells[0].method), strategy_rows(rows))


def cells_of(report: RunContent, group: Sequence[Summary]) -> dict[str, str]:
    """Return the numbers of a row of the table of strategies, by the name of their column.

    The strategies of the row chose alike, so that only the interval that repeats the selection
    differs between them.
    """
    summary = group[0]
    row = {
        wording.metric(report.base_weight): wording.percent(summary.reported.mean),
        over("seed", [len(cell.choices) for cell in report.summaries]): (
            "draws nothing"
            if summary.draws_nothing
            else wording.spread(summary.reported, [c.reported_mean for c in summary.choices])
        ),
        "+- tasks": wording.half_width(summary.reported_tasks),
    }
    if report.resampled:
        intervals = _intervals(report, group)
        ends = [intervals[0], intervals[-1]] if intervals else [None]
        row[wording.SELECTION] = " to ".join(dict.fromkeys(map(wording.half_width, ends)))
    if report.base_weight is not None:
        row["NovelGen"] = wording.percent(summary.novel.mean)
    return row | {
        "BaseGen": wording.percent(summary.base.mean),
        "ValGen": wording.percent(summary.val.mean),
        _regret(report): "-" if summary.regret is None else wording.percent(summary.regret.mean),
        "novel looks": str(summary.novel_evaluations),
    }


def _regret(report: RunContent) -> str:
    """Return the head of the column of regret."""
    return "regret among finalists" if report.completeness.early else "regret"


def over(noun: str, counts: Iterable[int]) -> str:
    """Return the head of ``wording.spread``: half of an interval, or both values of two."""
    if (different := set(counts)) == {2}:
        return f"each {noun}"
    return f"+- {noun}s{' (of two: each)' if 2 in different else ''}"


def _intervals(report: RunContent, group: Sequence[Summary]) -> list[SelectionBootstrap]:
    """Return the known intervals that repeat the selection, the narrowest first."""
    intervals = [report.interval_of(cell) for cell in group]
    known = [i for i in intervals if i is not None and np.isfinite(i.low)]
    return sorted(known, key=lambda interval: interval.high - interval.low)


def _explained(report: RunContent) -> str:
    """Say what no head has room for."""
    text = "Percent on the report tasks. +-: half of a 95 % interval."
    if any(cell.result.over == "classes" for cell in report.resampled):
        text += f' "{wording.SELECTION}" resamples tasks and classes.'
    elsewhere = ", on other classes than these" if report.info.question.apart else ""
    text = f"{text} {_regret(report)}: what it lost to choosing both by NovelGen{elsewhere}."
    marked = any(strategy.among_finalists for strategy in report.selected.strategies)
    if marked and report.completeness.early is not None:
        text += f" {wording.among_finalists(report.completeness.early)}"
    return text


def over_methods(report: RunContent) -> Iterable[blocks.Block]:
    """Return every strategy over all methods."""
    compared = report.over_methods
    results = compared.results
    if results:
        titles = blocks.numbers(list(_result(report, results[0])))
        rows = strategy_rows((r.strategy, _result(report, r).values()) for r in results)
        yield blocks.table((*STRATEGY, *titles), rows)
        verdicts = any(result.against_least is not None for result in results)
        if not verdicts and sum(result.strategy.usual for result in results) > 1:
            few = counted(len(compared.methods), "method")
            text = f"{few} cannot show whether one strategy is better: that takes {LEAST_ROWS}."
            yield blocks.Paragraph(text, "note")
    if compared.without_regret:
        yield blocks.Paragraph(
            f"Strategies are not compared over all methods, because {wording.FULL_ORACLE} cannot "
            "choose, or what it chose is not measured, so that the regret is not known: "
            f"{', '.join(compared.without_regret)}."
        )
    for alike in blocks.grouped(compared.lacking, lambda lack: lack[1]):
        methods = alike[0][1]
        without = "every method" if methods == compared.methods else " and ".join(methods)
        strategies = ", ".join(str(strategy) for strategy, _ in alike)
        yield blocks.Paragraph(f"Not compared, because {without} lacks them: {strategies}.")
    yield from _overtuning(report)


def _result(report: RunContent, result: StrategyResult) -> dict[str, str]:
    """Return the numbers of a row by the name of their column."""
    compared = report.over_methods
    noun = "method" if len(compared.methods) > 1 else "seed"
    row = {
        _regret(report): wording.percent(result.regret.mean),
        over(noun, [len(result.regrets)]): wording.spread(result.regret, result.regrets),
        "regret of the worst seed": wording.percent(result.worst),
        "novel looks": str(result.novel_evaluations),
    }
    if any(other.training != 1 for other in compared.results):
        row["training, with class folds"] = f"{result.training:.1f} x"
    if all(other.against_least is None for other in compared.results):
        return row
    against = result.against_least
    verdict = "least" if result.least else "-" if against is None else against.verdict
    p = "-" if against is None else wording.p_value(against.p_adjusted)
    return row | {"against the least regret": verdict, "p (all pairs)": p}


def _overtuning(report: RunContent) -> Iterable[blocks.Block]:
    """Show what choosing a configuration lost."""
    usual = [cell for cell in report.overtuning if cell.strategy.usual]
    if not usual:
        return

    def texts(cell: Overtuning) -> tuple[str, str]:
        return f"{100 * cell.below.mean:+.2f}", wording.spread(cell.below, cell.values)

    groups = [
        blocks.Group(
            report.named(cells[0].method), strategy_rows((c.strategy, texts(c)) for c in cells)
        )
        for cells in blocks.grouped(usual, lambda cell: cell.method)
    ]
    title = "Overtuning: how far the chosen configuration is below the first one of the grid"
    sign = "Below 0 choosing gained, above 0 it lost"
    yield blocks.Paragraph(f"{title}{wording.by_metric(report.base_weight)}, in points. {sign}.")
    titles = ["below the first", over("seed", [len(cell.values) for cell in usual])]
    yield blocks.Table((*STRATEGY, *blocks.numbers(titles)), tuple(groups))


def measured_under(report: RunContent) -> Iterable[blocks.Block]:
    """Say of which trials and under which protocol the numbers are, and by which was chosen."""
    if report.info.scope:
        yield blocks.Paragraph(report.info.scope)
    reported, by = report.info.protocol, report.info.chosen_by
    if reported is None or by is None:
        return
    text = f"Measured under {wording.protocol(reported)}."
    if reported.id != by.id:
        text = f"Reported under {wording.protocol(reported)}. Chosen by {wording.protocol(by)}."
    yield blocks.Paragraph(text)


def under_protocols(report: RunContent) -> Iterable[blocks.Block]:
    """Return protocols below each other and methods side by side, a block for equal strategies."""
    protocols = report.over_protocols
    if len(protocols) < 2:
        return
    yield blocks.Bullets(tuple(_described(report, under) for under in protocols))
    summaries = [summary for under in protocols for summary in under.summaries]
    there = {summary.method for summary in summaries}
    methods = [method for method in report.selected.methods if method in there]
    if not methods:
        return
    counts = [len(summary.choices) for summary in summaries]
    each = ("", f": {over('seed', counts)}", ": +- tasks")
    columns = blocks.numbers(
        [f"{report.named(method)}{head}" for method in methods for head in each]
    )
    shown = {summary.strategy for summary in summaries}
    rows = [(s, _under(protocols, s, methods)) for s in report.selected.strategies if s in shown]
    groups = [
        blocks.Group(wording.on_one_line([strategy for strategy, _ in alike]), alike[0][1])
        for alike in blocks.grouped(rows, lambda row: (row[0].oracle, row[1]))
    ]
    yield blocks.Table(blocks.words("NovelGen under protocol") + columns, tuple(groups))


def _described(report: RunContent, under: UnderProtocol) -> str:
    planned = under.planned
    text = f"{planned.name}: {planned.protocol.described}"
    uses = {"chosen by it": report.info.chosen_by, "reported above": report.info.protocol}
    used = ", ".join(use for use, by in uses.items() if by and by.id == planned.id)
    if under.unmeasured and not used:
        command = wording.measuring(planned, not report.info.as_planned)
        used = f"{counted(under.unmeasured, 'chosen snapshot')} not measured: {command}"
    return f"{text}; {used}" if used else text


def _under(
    protocols: Sequence[UnderProtocol], strategy: Strategy, methods: Sequence[str]
) -> tuple[blocks.Row, ...]:
    rows: list[blocks.Row] = []
    for under in protocols:
        cells = {s.method: s for s in under.summaries if s.strategy == strategy}
        texts = [text for method in methods for text in _accuracy(cells.get(method))]
        rows.append(blocks.Row((under.planned.name, *texts)))
    return tuple(rows)


def _accuracy(cell: Summary | None) -> tuple[str, str, str]:
    if cell is None:
        return "-", "-", "-"
    return (
        wording.percent(cell.novel.mean),
        wording.spread(cell.novel, [choice.means["novel"] for choice in cell.choices]),
        wording.half_width(cell.novel_tasks),
    )
