"""The tables of strategies: what each chose for a method, and strategies over all methods."""

from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.cautions import why_left_out
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import (
    Block,
    Group,
    Paragraph,
    Row,
    Table,
    Weight,
    grouped,
    numbers,
    words,
)
from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.strategies import StrategyComparison, StrategyResult
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.text.printed import counted

NO_METHOD = "No strategy can use the recorded trials, so there is nothing to compare."

_BOLD = (
    " Bold: the best strategy that is not an oracle, known only afterwards; choosing a strategy by "
    "it would itself be an oracle."
)


def methods_and_strategies(report: Report, bold: bool) -> Iterable[Block]:
    """Each method under each strategy; strategies that chose alike share a row."""
    if not report.summaries and report.selected.strategies:
        yield Paragraph(NO_METHOD, "alarm")
    there = {summary.method for summary in report.summaries}
    groups = [_method(report, method) for method in report.selected.methods if method in there]
    if groups:
        titles = numbers(list(cells_of(report, report.summaries[:1])))
        chosen = words("chosen (epoch of each seed)")
        yield Table(words("snapshot / config") + titles + chosen, tuple(groups))
        for method in report.selected.methods:
            if method not in there:
                why = why_left_out(report.selected, method)
                yield Paragraph(f"{method} is left out: {why}.", "alarm")
    for one in report.left_out:
        # Unusable trials and what is not measured are in the banner instead.
        unplanned = one.fold is not None and one.trial is None
        listed = one.epoch is not None and report.completeness.unmeasured
        if unplanned or (one.snapshot_selector is not None and not listed):
            some = one.snapshot_selector or "cross-validated"
            strategy = f"{some} / {one.hyperparameter_selector or 'any'}"
            text = f"Left out: {one.method}, {strategy}, seed {one.seed}: {one.reason}"
            yield Paragraph(text, "alarm")
    if groups:
        yield Paragraph(_explained(report) + (_BOLD if bold else ""), "note")


def best_of(summaries: Sequence[Summary]) -> float | None:
    """The best of the strategies that are no oracles, as ``comparable``; None without any."""
    usual = [one.reported.mean for one in summaries if not one.strategy.oracle]
    return float(comparable(usual).max()) if usual else None


def _method(report: Report, method: str) -> Group:
    own = [one for one in report.summaries if one.method == method]
    best = best_of(own)
    lines: list[Row] = []
    for group in same_choices(own):
        first = group[0]
        leads = comparable(first.reported.mean) == best
        name = wording.strategies([one.strategy for one in group])
        cells = (name, *cells_of(report, group).values(), wording.choices(first.choices))
        lines.append(Row(cells, _weight(first.strategy.oracle, bool(leads))))
    return Group(method, tuple(lines))


def _weight(oracle: bool, leads: bool) -> Weight:
    return "reference" if oracle else "best" if leads else ""


def cells_of(report: Report, group: Sequence[Summary]) -> dict[str, str]:
    """The numbers of a row of the table of strategies, by the name of their column.

    The strategies of the row chose alike, so that only the interval that repeats the selection
    differs between them.
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


def _explained(report: Report) -> str:
    """What the columns of the table mean."""
    seeds = max(summary.novel.n for summary in report.summaries)
    weight = report.base_weight
    mixture = (
        "" if weight is None else f"{wording.mixture(weight)}: {wording.full_mixture(weight)}. "
    )
    elsewhere = "" if report.info.same_novel else ", which chose on other classes than these,"
    two = any(len(summary.choices) == 2 for summary in report.summaries)
    both = "; for two seeds both values, since they are too few for an interval" if two else ""
    return (
        f"Percent on the report tasks, mean over {counted(seeds, 'seed')}. {mixture}"
        f"seeds, tasks: half-widths of {'' if weight is None else 'its '}95 % intervals{both}. "
        f"{_select(report, seeds)}regret: NovelGen of oracle / oracle{elsewhere} minus this. "
        "evals: snapshots whose novel scores the strategy read. "
        "* oracle: reads novel scores. Each seed's configuration and epoch are chosen separately."
    )


def _select(report: Report, seeds: int) -> str:
    """What ``select`` is, and that claims about methods need it."""
    resampled = bool(report.resampled)
    claims = wording.claims(report.summaries, resampled, report.partly) + " " if seeds > 1 else ""
    if not report.resampled:
        return claims
    classes = any(one.result.over == "classes" for one in report.resampled)
    over = "tasks and classes" if classes else "tasks"
    both = f"seeds and {over}" if seeds > 1 else over
    return (
        f"select: half-width of the interval over {both} that resamples {over} and selects again "
        f"each time, least to most where strategies that chose alike share a row. {claims}"
    )


def over_methods(report: Report, bold: bool) -> Iterable[Block]:
    """Every strategy over all methods; strategies that chose alike everywhere share a row."""
    found = report.over_methods

    def key(one: StrategyResult) -> Hashable:
        chosen = tuple((choice.method, choice.trial, choice.epoch) for choice in one.choices)
        return chosen, one.novel_evaluations, one.training, one.strategy.oracle

    verdicts = any(one.against_least is not None for one in found.results)
    lines = []
    for group in grouped(found.results, key):
        name = wording.strategies([one.strategy for one in group])
        weight = _weight(group[0].strategy.oracle, group[0].least and verdicts)
        lines.append(Row((name, *_over(found, group[0], verdicts).values()), weight))
    if lines:
        titles = list(_over(found, found.results[0], verdicts))
        yield Table(words("snapshot / config") + numbers(titles), (Group("", tuple(lines)),))
        yield Paragraph(_over_explained(found, verdicts, bold), "note")
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


def _over(found: StrategyComparison, one: StrategyResult, verdicts: bool) -> dict[str, str]:
    """The numbers of a row by the name of their column."""
    row = {
        "regret": wording.percent(one.regret.mean),
        "methods" if len(found.methods) > 1 else "seeds": wording.spread(one.regret, one.regrets),
        "worst": wording.percent(one.worst),
        "evals": str(one.novel_evaluations),
        "training": f"{one.training:.1f} x",
    }
    if not verdicts:
        return row
    against = one.against_least
    verdict = "least" if one.least else "-" if against is None else against.verdict
    return row | {"vs least": verdict, "p": "-" if against is None else f"{against.p_adjusted:.3g}"}


def _over_explained(found: StrategyComparison, verdicts: bool, bold: bool) -> str:
    """What the columns mean, and what the verdicts do not say."""
    one = found.results[0]
    if len(found.methods) > 1:
        over, column = f"{len(found.methods)} methods (each the mean over its seeds)", "methods"
    else:
        over, column = f"{counted(len(one.regrets), 'seed')} of {one.choices[0].method}", "seeds"
    spread = "both values" if len(one.regrets) == 2 else "half-width of its 95 % interval"
    text = (
        f"Regret in percentage points, mean over {over}; {column}: {spread}; worst: of the worst "
        "seed of a method. evals: of all methods and seeds. training: epochs of the full trials, "
        "and of their class folds where the strategy reads them, against the full trials only."
    )
    if verdicts:
        return (
            f"{text} vs least: whether it is worse than the least mean regret of the strategies "
            f"that are no oracles{' (bold)' if bold else ''}, paired over methods at 95 %, with p "
            "adjusted for all pairs of strategies, because these same numbers found the least. "
            "`undecided` does not mean equally good."
        )
    usual = sum(not one.strategy.oracle for one in found.results)
    if usual < 2 or len(found.methods) >= LEAST_ROWS:
        return text
    here = "is one" if len(found.methods) == 1 else f"are {len(found.methods)}"
    return (
        f"{text} So few methods cannot show whether one strategy is better than another: "
        "seeds of one method are no further methods, and a verdict takes "
        f"{LEAST_ROWS} of them; here {here}."
    )
