"""Methods by strategies with their intervals: what the first figure of a report shows."""

from collections.abc import Iterable, Sequence
from math import inf, isfinite, nan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document.blocks import Bar, Forest
from fsl_sweep.orchestrator.selection.methods import Summary, same_choices
from fsl_sweep.orchestrator.selection.results import Strategy

TWO_SEEDS = (
    "Two seeds are shown as they are: a method's interval needs three, a difference's two of each."
)
"""Why the sentence of the answer may have an interval where the figure has none."""


def forest(report: RunContent) -> Iterable[Forest]:
    """Return the methods as a forest plot, unless there is none to show."""
    if bars := bars_of(report):
        title = f"{wording.metric(report.base_weight)}, %"
        off = off_scale(bars)
        note = [*_note(report, bars), *_named_off(bars, off)]
        yield Forest(title, bars, " ".join(note), off=off)


def off_scale(bars: Sequence[Bar]) -> tuple[str, ...]:
    """Return the groups far below all others, for which the scale would leave these no room.

    At most a third of the groups: those without which the scale is less than half as long.
    """
    ends: dict[str, tuple[float, float]] = {}
    for bar in bars:
        known = [value for value in (bar.low, bar.mean, bar.high, *bar.values) if isfinite(value)]
        low, high = ends.get(bar.group, (inf, -inf))
        ends[bar.group] = min(low, *known), max(high, *known)
    order = sorted(ends, key=lambda group: ends[group][1])
    for count in range(1, len(order) // 3 + 1):
        below, rest = ([ends[group] for group in part] for part in (order[:count], order[count:]))
        first, last = min(low for low, _ in rest), max(high for _, high in rest)
        if below[-1][1] < first and last - min(low for low, _ in below) > 2 * (last - first):
            return tuple(order[:count])
    return ()


def _named_off(bars: Sequence[Bar], off: Sequence[str]) -> Iterable[str]:
    """Name the methods that are left of the scale."""
    means = {bar.group: bar.mean for bar in reversed(bars)}
    if names := [f"{group} ({means[group]:.1f})" for group in off]:
        yield f"Left of the scale (<): {wording.some(names)}."


def bars_of(report: RunContent) -> tuple[Bar, ...]:
    """Return a bar for each method and the strategies that chose alike for it, best method first.

    Methods stand as the leading strategy ranks them. Of each that strategy is first, then those
    under which another method leads, then the others; the oracles are last, the one that regret is
    measured against before others.
    """
    ranked = {ranking.strategy: ranking.methods for ranking in report.rankings}
    order = ranked.get(report.lead, ()) if report.lead else ()

    def place(strategy: Strategy) -> tuple[bool, bool, bool]:
        if strategy.oracle:
            return True, str(strategy) != wording.FULL_ORACLE, False
        return False, strategy != report.lead, ranked[strategy][:1] == order[:1]

    bars: list[Bar] = []
    for method in dict.fromkeys((*order, *(cell.method for cell in report.summaries))):
        cells = [cell for cell in report.summaries if cell.method == method]
        cells.sort(key=lambda cell: (place(cell.strategy), cell.strategy.among_finalists))
        bars += [_bar(report, group) for group in same_choices(cells)]
    return tuple(bars)


def _bar(report: RunContent, group: Sequence[Summary]) -> Bar:
    """Return the bar of a method under strategies that chose alike; the first has the interval.

    It is with seeds, tasks and selection. There is none where the selection was not repeated, and
    of two seeds, whose values are shown: the interval has one degree of freedom and is too wide to
    be useful. With one seed it is of these snapshots, over tasks and selection.
    """
    cell, method = group[0], report.named(group[0].method)
    interval = report.interval_of(cell)
    low, high = nan, nan
    if interval is not None and interval.n != 2:
        low, high = 100 * interval.low, 100 * interval.high
    names = tuple(wording.marked(member.strategy) for member in group)
    mean, values = 100 * cell.reported.mean, [100 * c.reported_mean for c in cell.choices]
    seeds = ", ".join(f"{value:.2f}" for value in values)
    return Bar(
        group=method,
        names=names,
        mean=mean,
        low=low,
        high=high,
        values=tuple(values),
        number=report.selected.methods.index(cell.method),
        reference=cell.strategy.oracle,
        about=f"{method}, {', '.join(names)}: {mean:.2f}; seeds: {seeds}",
    )


def _note(report: RunContent, bars: Sequence[Bar]) -> Iterable[str]:
    fixed = {report.named(cell.method) for cell in report.summaries if cell.draws_nothing}
    of_none = [bar for bar in bars if bar.group in fixed and isfinite(bar.low)]
    rest = [bar for bar in bars if bar not in of_none]
    usual = [bar for bar in rest if not bar.reference] or rest
    seeds = [len(bar.values) for bar in usual]
    known = [isfinite(bar.low) for bar in usual]
    pairs = [*zip(seeds, known, strict=True)]
    if any(count > 2 and interval for count, interval in pairs):
        yield (
            "Intervals: 95 %, with seeds, tasks and selection; as methods share tasks, those that "
            "differ may overlap."
        )
    if 2 in seeds:
        yield TWO_SEEDS
    if of_none:
        yield "Of methods that draw nothing: 95 %, over tasks and selection."
    if (1, True) in pairs:
        yield "Of one seed: 95 %, of these snapshots, over tasks and selection."
    if any(count != 2 and not interval for count, interval in pairs):
        possible = bool(report.resampled) or any(
            cell.novel_tasks is not None for cell in report.summaries
        )
        adds = "`--bootstrap 1000` adds them."
        if report.partly:
            adds = "they need every snapshot measured."
        none = "Where there is none" if any(known) else "No intervals"
        yield f"{none}: {adds if possible else 'scores by task are not known.'}"
    marked = any(wording.FINALISTS in bar.names[0] for bar in bars)  # others are not shown
    if marked and report.completeness.early is not None:
        yield wording.among_finalists(report.completeness.early)
    if any(len(bar.names) > 1 for bar in bars):
        yield "Strategies that chose alike share a line."
