"""Which method is how good, and by how much they differ: the figures about methods."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isnan, nan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import RunContent
from fsl_sweep.orchestrator.report.document.blocks import Bar, grouped
from fsl_sweep.orchestrator.report.document.forest import forest as blocks_of
from fsl_sweep.orchestrator.report.figures.intervals import panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison

ROWS = 32
"""The most rows of a figure: with more, only those of the leading strategy are shown."""

MARKS = "Small dots: seeds. Open diamond: the oracle, which reads novel scores."

TRAINED_AGAIN = "methods, trained again: seeds, tasks, selection"
THESE_SNAPSHOTS = "these snapshots only: tasks"
THIN_AND_THICK = (
    " Thin: what training the methods again may give, 95 % for all pairs together (Holm). Thick: "
    "the trained snapshots on other tasks, 95 %, which says nothing about training again."
)
THICK = " Thick: 95 %, of the trained snapshots on other tasks; nothing is known of training again."

NEITHER = " No interval is known: the selection was not repeated, and tasks are not common."


def forest(report: RunContent) -> Iterable[Figure]:
    """Draw methods by strategies with their intervals, as the forest plot of the answer."""
    for plot in blocks_of(report):
        # Of the oracles the one that regret is measured against; of others the table tells.
        full = any(wording.FULL_ORACLE in bar.names for bar in plot.bars)
        shown = [
            b for b in plot.bars if not (b.reference and full) or wording.FULL_ORACLE in b.names
        ]
        metric = wording.metric(report.base_weight)
        caption = f"{metric} on the report tasks, mean over seeds. {MARKS} {plot.note}"
        if len(shown) > ROWS:
            leading = [bar for bar in shown if str(report.lead) in bar.names][:ROWS]
            shown = [replace(bar, group="", names=(bar.group,)) for bar in leading]
            caption += f" By {report.lead}; the tables show the other strategies."
        yield Figure("forest", caption, (), [panel_of(shown, plot.title)])


def differences(report: RunContent) -> Iterable[Figure]:
    """Draw pairs of methods, the better one first, over seeds; and their snapshots over tasks."""
    order = [m for r in report.rankings if r.strategy == report.lead for m in r.methods]
    groups = _alike(report, order)
    if not groups:
        return
    every = len(groups) <= ROWS
    shown = groups
    if not every:
        shown = [pairs for pairs in groups if pairs[0].strategy == report.lead]
        if len(shown) > ROWS:
            shown = [pairs for pairs in shown if order[0] in (pairs[0].a, pairs[0].b)][:ROWS]
    bars = [_difference(report, pairs, order, headed=every) for pairs in shown]
    again = any(not isnan(bar.low) for bar in bars)
    paired = any(not isnan(bar.within[0]) for bar in bars)
    metric = wording.metric(report.base_weight)
    legend = [TRAINED_AGAIN if again else "", THESE_SNAPSHOTS if paired else ""]
    scale = f"difference in {metric}, points"
    panel = panel_of(bars, scale, legend, digits="+.1f", zero=True)
    caption = f"{metric} of the first method minus that of the second."
    caption += THIN_AND_THICK if again else THICK if paired else NEITHER
    if not every:
        caption += f" By {report.lead}; the tables show the rest."
    yield Figure("differences", caption, legend if again and paired else (), [panel])


def _alike(report: RunContent, order: Sequence[str]) -> list[tuple[MethodComparison, ...]]:
    """Return pairs of methods by rank, and of each the strategies that chose alike together."""
    chosen = {
        (cell.method, cell.strategy): tuple((c.seed, c.trial, c.epoch) for c in cell.choices)
        for cell in report.summaries
    }

    def leading(pair: MethodComparison) -> bool:
        return pair.strategy == report.lead

    usual = [
        pair
        for pair in sorted(report.differences, key=lambda pair: not leading(pair))
        if {pair.a, pair.b} <= {*order} and (leading(pair) or not pair.strategy.oracle)
    ]
    groups = grouped(
        usual, lambda pair: (pair.a, pair.b, *(chosen[m, pair.strategy] for m in (pair.a, pair.b)))
    )
    return sorted(groups, key=lambda pairs: sorted(map(order.index, (pairs[0].a, pairs[0].b))))


def _difference(
    report: RunContent, group: Sequence[MethodComparison], order: Sequence[str], headed: bool
) -> Bar:
    """Return the bar of strategies that chose alike: the widest interval of repeating each."""
    first = group[0]
    sign = -1 if order.index(first.a) > order.index(first.b) else 1
    a, b = map(report.named, (first.a, first.b)[::sign])
    # Without repeating the selection the interval of methods is too narrow to be shown.
    known = [
        pair.result.effect
        for pair in group
        if not isnan(pair.result.effect.low)
        and {(m, pair.strategy) for m in (pair.a, pair.b)} <= report.repeated.keys()
    ]
    ends = [(effect.low, effect.high) for effect in known] or [(nan, nan)]
    low, high = sorted((sign * min(ends)[0], sign * max(high for _, high in ends)))
    effects = {(pair.strategy, pair.a, pair.b): pair.result.effect for pair in report.comparisons}
    tasks = effects.get((first.strategy, first.a, first.b))
    thick = sorted((sign * tasks.low, sign * tasks.high)) if tasks else (nan, nan)
    mean = 100 * sign * first.result.effect.mean
    names = tuple(str(pair.strategy) for pair in group)
    return Bar(
        group=f"{a} minus {b}" if headed else f"{a} minus",
        names=names if headed else (b,),
        mean=mean,
        low=100 * low,
        high=100 * high,
        within=(100 * thick[0], 100 * thick[1]),
        about=f"{a} minus {b}, {', '.join(names)}: {mean:+.2f}",
    )
