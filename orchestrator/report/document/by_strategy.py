"""The tables of strategies: what each chose for a method, and strategies over all methods."""

from collections.abc import Iterable, Sequence

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.cautions import by_missing_loss
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
from fsl_sweep.orchestrator.selection.comparing.overtuning import Overtuning
from fsl_sweep.orchestrator.selection.comparing.strategies import StrategyComparison, StrategyResult
from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import SelectionBootstrap
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.text.printed import counted

STRATEGY = words("snapshot by", "configuration by")
"""The columns of ``strategy_rows``."""


def methods_and_strategies(report: Report) -> Iterable[Block]:
    """A matrix of snapshot by configuration for each method, then the numbers behind it."""
    cells = grouped(report.summaries, lambda one: one.method)
    if cells:
        second = list(dict.fromkeys(one.hyperparameter for one in report.selected.strategies))
        heads = [f"configuration by {wording.configuration_by(name)}" for name in second]
        matrices = tuple(_matrix(report, own, second) for own in cells)
        yield Table((*words("snapshot by"), *numbers(heads)), matrices)
        yield Paragraph(_typed(report), "note")
        titles = numbers(list(cells_of(report, report.summaries[:1])))
        columns = (*STRATEGY, *titles, *words("chosen (epoch of each seed)"))
        yield Table(columns, tuple(_numbers(report, own) for own in cells))
        yield Paragraph(_explained(report), "note")


def left_out(report: Report) -> Iterable[str]:
    """What strategies have no row for; what is not done or not measured is in the banner."""
    for one in report.selected.left_out:
        if by_missing_loss(report, one.method, one.snapshot_selector):
            continue
        unplanned = one.fold is not None and one.trial is None
        listed = one.epoch is not None and report.completeness.unmeasured
        if unplanned or (one.snapshot_selector is not None and not listed):
            some = one.snapshot_selector or "cross-validated"
            strategy = f"{some} / {one.hyperparameter_selector or 'any'}"
            yield f"Left out: {one.method}, {strategy}, seed {one.seed}: {one.reason}"


def strategy_rows(cells: Iterable[tuple[Strategy, Iterable[str]]]) -> tuple[Row, ...]:
    """The names of strategies and their cells: those with equal cells together, oracles apart."""
    rows = [(one, tuple(own)) for one, own in cells]
    return tuple(
        Row((*names, *alike[0][1]), alike[0][0].oracle)
        for alike in grouped(rows, lambda row: (row[0].oracle, row[1]))
        for names in wording.strategies([one for one, _ in alike])
    )


def _matrix(report: Report, own: Sequence[Summary], second: Sequence[str]) -> Group:
    """Snapshot selectors with equal cells share a row."""
    found = {(one.strategy.snapshot, one.strategy.hyperparameter): one for one in own}
    names: dict[Row, list[str]] = {}
    for first in dict.fromkeys(snapshot for snapshot, _ in found):
        there = [found.get((first, name)) for name in second]
        cells = ("-" if one is None else _cell(report, one) for one in there)
        oracle = all(one.strategy.oracle for one in there if one is not None)
        names.setdefault(Row(tuple(cells), oracle), []).append(wording.snapshot_by(first))
    rows = [Row((", ".join(own), *row.cells), row.reference) for row, own in names.items()]
    two = len(own[0].choices) == 2
    again = any(cell.method == own[0].method for cell in report.resampled)
    what = " (each seed)" if two else f" {wording.SELECTION}" if again else ""
    title = f"{report.named(own[0].method)}: {wording.metric(report.base_weight)}{what}"
    return Group(title, tuple(rows))


def _cell(report: Report, one: Summary) -> str:
    """What methods are compared by: of two seeds with both, else with the interval."""
    mean = wording.percent(one.reported.mean)
    if len(one.choices) == 2:
        both = ", ".join(f"{100 * choice.reported_mean:.1f}" for choice in one.choices)
        return f"{mean} ({both})"
    known = _again(report, [one])
    return f"{mean} +- {wording.half_width(known[0])}" if known else mean


def _typed(report: Report) -> str:
    """What a sweep file calls what the tables name in words."""
    strategies = report.selected.strategies
    names = [(one.snapshot, wording.snapshot_by(one.snapshot)) for one in strategies]
    for one in strategies:
        names.append((one.hyperparameter, wording.configuration_by(one.hyperparameter)))
    shown = [f"{name} = {by}" for name, by in dict.fromkeys(names) if name != by]
    example = report.lead or strategies[0]
    shown.append(f"{example} = {wording.on_one_line([example])}")
    return f"Names in a sweep file: {', '.join(shown)}."


def _numbers(report: Report, own: Sequence[Summary]) -> Group:
    rows = [
        (one.strategy, (*cells_of(report, alike).values(), wording.choices(one.choices)))
        for alike in same_choices(own)
        for one in alike
    ]
    return Group(report.named(own[0].method), strategy_rows(rows))


def cells_of(report: Report, group: Sequence[Summary]) -> dict[str, str]:
    """The numbers of a row of the table of strategies, by the name of their column.

    The strategies of the row chose alike, so that only the interval that repeats the selection
    differs between them.
    """
    summary = group[0]
    row = {
        wording.metric(report.base_weight): wording.percent(summary.reported.mean),
        over("seed", [len(one.choices) for one in report.summaries]): wording.spread(
            summary.reported, [c.reported_mean for c in summary.choices]
        ),
        "+- tasks": wording.half_width(summary.reported_tasks),
    }
    if report.resampled:
        known = _again(report, group)
        ends = dict.fromkeys(map(wording.half_width, (known[0], known[-1]) if known else [None]))
        row[wording.SELECTION] = " to ".join(ends)
    if report.base_weight is not None:
        row["NovelGen"] = wording.percent(summary.novel.mean)
    return row | {
        "BaseGen": wording.percent(summary.base.mean),
        "ValGen": wording.percent(summary.val.mean),
        "regret": "-" if summary.regret is None else wording.percent(summary.regret.mean),
        "novel looks": str(summary.novel_evaluations),
    }


def over(noun: str, counts: Iterable[int]) -> str:
    """The head of ``wording.spread``: half of an interval, or both values of two."""
    if (found := set(counts)) == {2}:
        return f"each {noun}"
    return f"+- {noun}s{' (of two: each)' if 2 in found else ''}"


def _again(report: Report, group: Sequence[Summary]) -> list[SelectionBootstrap]:
    """The known intervals that repeat the selection, the narrowest first."""
    own = {(one.method, one.strategy) for one in group}
    cells = [one for one in report.resampled if (one.method, one.strategy) in own]
    found = [one.result if report.base_weight is None else one.mixed for one in cells]
    known = [one for one in found if one is not None and np.isfinite(one.low)]
    return sorted(known, key=lambda one: one.high - one.low)


def _explained(report: Report) -> str:
    """What no head has room for."""
    text = "Percent on the report tasks. +-: half of a 95 % interval."
    if any(one.result.over == "classes" for one in report.resampled):
        text += f' "{wording.SELECTION}" resamples tasks and classes.'
    elsewhere = ", on other classes than these" if report.info.question.apart else ""
    return f"{text} regret: what it lost to choosing both by NovelGen{elsewhere}."


def over_methods(report: Report) -> Iterable[Block]:
    """Every strategy over all methods."""
    found = report.over_methods
    if found.results:
        titles = numbers(list(_result(found, found.results[0])))
        rows = strategy_rows((one.strategy, _result(found, one).values()) for one in found.results)
        yield Table((*STRATEGY, *titles), (Group("", rows),))
        verdicts = any(one.against_least is not None for one in found.results)
        if not verdicts and sum(not one.strategy.oracle for one in found.results) > 1:
            few = counted(len(found.methods), "method")
            text = f"{few} cannot show whether one strategy is better: that takes {LEAST_ROWS}."
            yield Paragraph(text, "note")
    if found.without_regret:
        yield Paragraph(
            "Strategies are not compared over all methods, because oracle / oracle cannot choose, "
            "or what it chose is not measured, so that the regret is not known: "
            f"{', '.join(found.without_regret)}."
        )
    for alike in grouped(found.lacking, lambda one: one[1]):
        methods = alike[0][1]
        without = "every method" if methods == found.methods else " and ".join(methods)
        strategies = ", ".join(str(strategy) for strategy, _ in alike)
        yield Paragraph(f"Not compared, because {without} lacks them: {strategies}.")
    yield from _overtuning(report)


def _result(found: StrategyComparison, one: StrategyResult) -> dict[str, str]:
    """The numbers of a row by the name of their column."""
    noun = "method" if len(found.methods) > 1 else "seed"
    row = {
        "regret": wording.percent(one.regret.mean),
        over(noun, [len(one.regrets)]): wording.spread(one.regret, one.regrets),
        "regret of the worst seed": wording.percent(one.worst),
        "novel looks": str(one.novel_evaluations),
    }
    if any(other.training != 1 for other in found.results):
        row["training, with class folds"] = f"{one.training:.1f} x"
    if all(other.against_least is None for other in found.results):
        return row
    against = one.against_least
    verdict = "least" if one.least else "-" if against is None else against.verdict
    p = "-" if against is None else wording.p_value(against.p_adjusted)
    return row | {"against the least regret": verdict, "p (all pairs)": p}


def _overtuning(report: Report) -> Iterable[Block]:
    """What choosing a configuration lost."""
    usual = [one for one in report.overtuning if not one.strategy.oracle]
    if not usual:
        return

    def cells(one: Overtuning) -> tuple[str, str]:
        return f"{100 * one.below.mean:+.2f}", wording.spread(one.below, one.values)

    groups = [
        Group(report.named(own[0].method), strategy_rows((one.strategy, cells(one)) for one in own))
        for own in grouped(usual, lambda one: one.method)
    ]
    title = "Overtuning: how far the chosen configuration is below the first one of the grid"
    yield Paragraph(f"{title}{wording.by_metric(report.base_weight)}.")
    titles = ["below the first", over("seed", [len(one.values) for one in usual])]
    yield Table((*STRATEGY, *numbers(titles)), tuple(groups))
