"""The tables of the terminal report."""

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from fsl_sweep.orchestrator.comparison import MethodComparison
from fsl_sweep.orchestrator.report import over_methods, rows, wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.groups import (
    ORACLE,
    best_of,
    names,
    one_line,
    same_choices,
    same_everywhere,
    same_results,
)
from fsl_sweep.orchestrator.statistics import Comparison
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.summary import Summary

WIDE = 128
"""From this many columns on, the table of strategies has room for what was chosen."""

GIVE_WAY = ("ValGen", "BaseGen", "tasks", "evals", "select", "regret")
COLOURS = {"better": "green", "worse": "red", "equivalent": "cyan", "undecided": "dim"}


def strategies(report: Report, method: str, width: int) -> tuple[Table, list[str]]:
    """One method under every strategy, and the columns that there is no room for.

    Oracle rows are dim and starred. Strategies that chose alike share a row.
    """
    own = [one for one in report.summaries if one.method == method]
    best = best_of(own)
    groups = same_choices(own)
    longest = max(len(one.strategy.hyperparameter) for one in own) + len(ORACLE)
    lines = [names(group, max(longest, 16 if width >= WIDE else 10)) for group in groups]
    columns = [rows.of_strategies(report, group) for group in groups]
    shown = _that_fit(lines, columns, width, GIVE_WAY)
    table = _table_of(shown)
    if width >= WIDE:
        table.add_column("chosen (epoch of each seed)", overflow="fold")
    for group, (first, second), numbers in zip(groups, lines, columns, strict=True):
        row = ["\n".join(first), "\n".join(second), *(numbers[name] for name in shown)]
        row += [wording.choices(group[0].choices)] if width >= WIDE else []
        style = "dim" if group[0].strategy.oracle else ""
        bold = comparable(group[0].reported.mean) == best and not style
        table.add_row(*row, style="bold" if bold else style)
    return table, [name for name in columns[0] if name not in shown]


def strategies_over_methods(report: Report, width: int) -> Table:
    """Every strategy over all methods; oracle rows are dim and starred.

    Strategies that chose alike everywhere share a row.
    """
    results = report.over_methods.results
    groups = same_everywhere(results)
    longest = max(len(one.strategy.hyperparameter) for one in results) + len(ORACLE)
    lines = [names(group, max(longest, 10)) for group in groups]
    columns = [over_methods.cells(report, group[0]) for group in groups]
    shown = _that_fit(lines, columns, width, over_methods.GIVE_WAY)
    table = _table_of(shown)
    for group, (first, second), numbers in zip(groups, lines, columns, strict=True):
        leads = over_methods.leads(report, group[0])
        style = "dim" if group[0].strategy.oracle else "bold" if leads else ""
        cells = [numbers[name] for name in shown]
        table.add_row("\n".join(first), "\n".join(second), *cells, style=style)
    return table


def _table_of(shown: Sequence[str]) -> Table:
    """An empty table of strategies with these columns."""
    table = plain_table()
    table.add_column("snapshot", no_wrap=True)
    table.add_column("config", no_wrap=True)
    for name in shown:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _that_fit(
    lines: Sequence[tuple[list[str], list[str]]],
    columns: Sequence[dict[str, str]],
    width: int,
    give_way: Sequence[str],
) -> list[str]:
    """The columns that there is room for: the least needed give way."""
    gap = 2
    names_take = [max(len(text) for line in lines for text in line[i]) + gap for i in (0, 1)]
    room = width + gap - max(names_take[0], 10) - names_take[1]
    shown = list(columns[0])
    for name in give_way:
        if sum(max([len(n), *(len(c[n]) for c in columns)]) + gap for n in shown) <= room:
            break
        shown = [other for other in shown if other != name]
    return shown


def chosen(summaries: Sequence[Summary]) -> Table:
    """What each strategy chose, where the table of strategies has no room for it."""
    table = plain_table()
    table.add_column("method", no_wrap=True)
    table.add_column("snapshot / config", overflow="fold")
    table.add_column("chosen (epoch of each seed)", overflow="fold")
    before = ""
    for group in same_choices(summaries):
        method = group[0].method
        table.add_row(
            method if method != before else "",
            "\n".join(one_line(group)),
            wording.choices(group[0].choices),
            style="dim" if group[0].strategy.oracle else "",
        )
        before = method
    return table


def rank_correlation(report: Report) -> Table:
    """Kendall's tau by method: mean over trials, and the lowest and highest."""
    table = plain_table()
    table.add_column("method", no_wrap=True)
    table.add_column("epochs", no_wrap=True)
    for name in rows.TAUS:
        table.add_column(name, justify="right", no_wrap=True)
    for cells in rows.of_rank_correlations(report):
        table.add_row(*cells)
    return table


def verdicts(comparisons: Sequence[MethodComparison], width: int) -> Iterable[Table]:
    """Strategies by pairs of methods, in as many tables as the width asks for.

    Strategies that come to the same results share a row.
    """
    pairs = list(dict.fromkeys((c.a, c.b) for c in comparisons))
    found = {(c.strategy, c.a, c.b): c.result for c in comparisons}
    groups = same_results(comparisons)
    longest = max(len(c.strategy.hyperparameter) for c in comparisons) + len(ORACLE)
    lines = [names(group, max(longest, 16)) for group in groups]
    taken_by_names = [max(len(text) for one in lines for text in one[i]) + 2 for i in (0, 1)]
    room = width - max(taken_by_names[0], 10) - max(taken_by_names[1], 8)
    while pairs:
        taken, used = 0, 0
        while taken < len(pairs) and (taken == 0 or used + _pair_width(pairs[taken]) <= room):
            used += _pair_width(pairs[taken])
            taken += 1
        now, pairs = pairs[:taken], pairs[taken:]
        table = plain_table()
        table.add_column("snapshot", no_wrap=True)
        table.add_column("config", no_wrap=True)
        for a, b in now:
            table.add_column(f"{a} vs {b}", justify="right", no_wrap=True)
        for group, (first, second) in zip(groups, lines, strict=True):
            strategy = group[0].strategy
            cells = [_verdict(found.get((strategy, a, b))) for a, b in now]
            shown = "\n".join(first), "\n".join(second)
            table.add_row(*shown, *cells, style="dim" if strategy.oracle else "")
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
