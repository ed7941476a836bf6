"""The tables of the terminal report."""

from collections.abc import Iterable, Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.statistics import Comparison
from fsl_sweep.orchestrator.summary import MethodComparison, Summary

WIDE = 110
"""From this many columns on, the table of strategies has room for what was chosen."""

ORACLE = "*"
COLOURS = {"better": "green", "worse": "red", "equivalent": "cyan", "undecided": "dim"}


def strategies(summaries: Sequence[Summary], wide: bool) -> Table:
    """One method under every strategy; oracle rows are dim and starred."""
    table = plain_table()
    best = max((s.novel.mean for s in summaries if not s.strategy.oracle), default=None)
    table.add_column("snapshot", no_wrap=True)
    table.add_column("config", no_wrap=True)
    for name in ("NovelGen", "seeds", "tasks", "BaseGen", "ValGen", "regret", "evals"):
        table.add_column(name, justify="right", no_wrap=True)
    if wide:
        table.add_column("chosen (epoch of each seed)", overflow="fold")
    for summary in summaries:
        row = [
            summary.strategy.snapshot,
            summary.strategy.hyperparameter + (ORACLE if summary.strategy.oracle else ""),
            wording.percent(summary.novel.mean),
            wording.half_width(summary.novel),
            wording.half_width(summary.novel_tasks),
            wording.percent(summary.base.mean),
            wording.percent(summary.val.mean),
            "-" if summary.regret is None else wording.percent(summary.regret.mean),
            str(summary.novel_evaluations),
        ]
        row += [wording.choices(summary.choices)] if wide else []
        style = "dim" if summary.strategy.oracle else ""
        table.add_row(*row, style="bold" if summary.novel.mean == best and not style else style)
    return table


def chosen(summaries: Sequence[Summary]) -> Table:
    """What each strategy chose, where the table of strategies has no room for it."""
    table = plain_table()
    table.add_column("method", no_wrap=True)
    table.add_column("snapshot / config", no_wrap=True)
    table.add_column("chosen (epoch of each seed)", overflow="fold")
    before = ""
    for summary in summaries:
        mark = ORACLE if summary.strategy.oracle else ""
        table.add_row(
            summary.method if summary.method != before else "",
            f"{summary.strategy}{mark}",
            wording.choices(summary.choices),
            style="dim" if summary.strategy.oracle else "",
        )
        before = summary.method
    return table


def rank_correlation(report: Report) -> Table:
    """Kendall's tau by method: mean over trials, and the lowest and highest."""
    table = plain_table()
    table.add_column("method", no_wrap=True)
    table.add_column("epochs", no_wrap=True)
    for name in ("val mean", "least", "most", "base mean", "least", "most", "trials"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = report.rank_correlations
    for method, last in dict.fromkeys((row.method, row.result.last) for row in rows):
        cells: list[str] = []
        count = 0
        for measure in ("val", "base"):
            own = [
                r.result.tau
                for r in rows
                if (r.method, r.measure, r.result.last) == (method, measure, last)
            ]
            taus = np.array(own)[np.isfinite(own)]
            count = max(count, len(own))
            cells += (
                [f"{x:+.2f}" for x in (taus.mean(), taus.min(), taus.max())]
                if len(taus)
                else ["-"] * 3
            )
        table.add_row(method, "all" if last is None else f"last {last}", *cells, str(count))
    return table


def verdicts(comparisons: Sequence[MethodComparison], width: int) -> Iterable[Table]:
    """Strategies by pairs of methods, in as many tables as the width asks for."""
    pairs = list(dict.fromkeys((c.a, c.b) for c in comparisons))
    found = {(c.strategy, c.a, c.b): c.result for c in comparisons}
    strategies = list(dict.fromkeys(c.strategy for c in comparisons))
    names = [f"{strategy}{ORACLE if strategy.oracle else ''}" for strategy in strategies]
    room = width - max(map(len, names), default=0)
    while pairs:
        taken, used = 0, 0
        while taken < len(pairs) and (taken == 0 or used + _pair_width(pairs[taken]) <= room):
            used += _pair_width(pairs[taken])
            taken += 1
        now, pairs = pairs[:taken], pairs[taken:]
        table = plain_table()
        table.add_column("snapshot / config", no_wrap=True)
        for a, b in now:
            table.add_column(f"{a} vs {b}", justify="right", no_wrap=True)
        for strategy, name in zip(strategies, names, strict=True):
            cells = [_verdict(found.get((strategy, a, b))) for a, b in now]
            table.add_row(name, *cells, style="dim" if strategy.oracle else "")
        yield table


def plain_table() -> Table:
    """A table without a frame: it stays aligned as plain text."""
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))


def _pair_width(pair: tuple[str, str]) -> int:
    return max(len(f"{pair[0]} vs {pair[1]}"), len("equivalent +00.00")) + 2


def _verdict(result: Comparison | None) -> Text:
    if result is None:
        return Text("-")
    return Text(f"{result.verdict} {100 * result.effect.mean:+.2f}", COLOURS[result.verdict])
