"""Which method is how good, and by how much they differ: the figures about methods."""

from collections.abc import Iterable, Sequence
from math import isfinite, isnan, nan

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.forest import TWO_SEEDS, Bar, forest_of
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.document.blocks import grouped
from fsl_sweep.orchestrator.report.figures.intervals import Row, panel_of
from fsl_sweep.orchestrator.report.figures.panel import Figure
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison

FULL = "oracle / oracle"
ROWS = 32
"""The most rows of a figure: with more, only those of the leading strategy are shown."""

AGAIN = "methods, trained again: seeds, tasks, selection"
SNAPSHOTS = "these snapshots only: tasks"
THIN_AND_THICK = (
    " Thin: what training the methods again may give, 95 % for all pairs together (Holm). Thick: "
    "the trained snapshots on other tasks, 95 %, which says nothing about training again."
)
THICK = " Thick: 95 %, of the trained snapshots on other tasks; nothing is known of training again."

NEITHER = " No interval is known: the selection was not repeated, and tasks are not common."


def forest(report: Report) -> Iterable[Figure]:
    """Methods by strategies with their intervals."""
    bars = list(forest_of(report))
    if not bars:
        return
    # Of the oracles the one that regret is measured against; of others the table tells.
    full = [bar for bar in bars if FULL in map(str, bar.strategies)]
    bars = [bar for bar in bars if not bar.oracle or bar in (full or bars)]
    every = len(bars) <= ROWS
    shown = bars if every else [bar for bar in bars if report.lead in bar.strategies][:ROWS]
    numbers = {method: i for i, method in enumerate(report.selected.methods)}
    rows = [_bar(report, bar, numbers[bar.method], headed=every) for bar in shown]
    scale = f"{wording.metric(report.base_weight)}, %"
    yield Figure("forest", _forest_caption(report, shown, every), (), [panel_of(rows, scale)])


def _bar(report: Report, bar: Bar, number: int, headed: bool) -> Row:
    name = report.named(bar.method)
    more = f" + {len(bar.strategies) - 1}" if len(bar.strategies) > 1 else ""
    mean, low, high = (100 * value for value in (bar.mean, bar.low, bar.high))
    values = ", ".join(f"{100 * value:.2f}" for value in bar.seeds)
    names = list(map(str, bar.strategies))
    return Row(
        name=f"{names[0]}{more}" if headed else name,
        mean=mean,
        low=low,
        high=high,
        text=f"{mean:.1f}",
        about=f"{name}, {', '.join(names)}: {mean:.2f}; seeds: {values}",
        number=None if bar.oracle else number,
        group=name if headed else "",
        dots=[100 * value for value in bar.seeds],
    )


def _forest_caption(report: Report, shown: Sequence[Bar], every: bool) -> str:
    usual = [bar for bar in shown if not bar.oracle] or shown
    text = f"{wording.metric(report.base_weight)} on the report tasks"
    if max(len(bar.seeds) for bar in usual) > 1:
        text += ", mean over seeds; small dots: seeds"
    text += "."
    if any(isfinite(bar.low) and len(bar.seeds) > 2 for bar in usual):
        text += " Lines: 95 %, of training again: with seeds, tasks and selection."
    if any(len(bar.seeds) == 2 for bar in usual):
        text += f" {TWO_SEEDS}"
    if any(isfinite(bar.low) and len(bar.seeds) == 1 for bar in usual):
        text += " Lines with one seed: 95 %, of these snapshots: with tasks and selection."
    if every and any(len(bar.strategies) > 1 for bar in shown):
        text += ' "+ n": n more strategies chose the same snapshots.'
    if any(bar.oracle for bar in shown):
        text += " Open diamond: oracle, which reads novel scores."
    return text if every else f"{text} By {report.lead}; the tables show the other strategies."


def differences(report: Report) -> Iterable[Figure]:
    """Pairs of methods, the better one first, over seeds; and their snapshots over tasks."""
    order = [m for one in report.rankings if one.strategy == report.lead for m in one.methods]
    groups = _alike(report, order)
    if not groups:
        return
    every = len(groups) <= ROWS
    led = [own for own in groups if own[0].strategy == report.lead]
    with_best = [own for own in led if order[0] in (own[0].a, own[0].b)]
    shown = groups if every else led if len(led) <= ROWS else with_best[:ROWS]
    rows = [_difference(report, own, order, headed=every) for own in shown]
    again = any(not isnan(row.low) for row in rows)
    paired = any(not isnan(row.within[0]) for row in rows)
    metric = wording.metric(report.base_weight)
    legend = [AGAIN if again else "", SNAPSHOTS if paired else ""]
    panel = panel_of(rows, f"difference in {metric}, points", legend, zero=True)
    caption = f"{metric} of the first method minus that of the second."
    caption += THIN_AND_THICK if again else THICK if paired else NEITHER
    if not every:
        caption += f" By {report.lead}; the tables show the rest."
    yield Figure("differences", caption, legend if again and paired else (), [panel])


def _alike(report: Report, order: Sequence[str]) -> list[tuple[MethodComparison, ...]]:
    """The pairs of methods by their ranks, and of each the strategies that chose alike together."""
    chose = {
        (one.method, one.strategy): tuple((c.seed, c.trial, c.epoch) for c in one.choices)
        for one in report.summaries
    }

    def led(one: MethodComparison) -> bool:
        return one.strategy == report.lead

    usual = [
        one
        for one in sorted(report.differences, key=lambda one: not led(one))
        if {one.a, one.b} <= {*order} and (led(one) or not one.strategy.oracle)
    ]
    groups = grouped(
        usual, lambda one: (one.a, one.b, *(chose[m, one.strategy] for m in (one.a, one.b)))
    )
    return sorted(groups, key=lambda own: sorted(map(order.index, (own[0].a, own[0].b))))


def _difference(
    report: Report, group: Sequence[MethodComparison], order: Sequence[str], headed: bool
) -> Row:
    """Strategies that chose alike have one interval: the widest of what repeating each gave."""
    first = group[0]
    sign = -1 if order.index(first.a) > order.index(first.b) else 1
    a, b = map(report.named, (first.a, first.b)[::sign])
    # Without repeating the selection the interval of methods is too narrow to be shown.
    repeated = {(one.method, one.strategy) for one in report.resampled}
    known = [
        one.result.effect
        for one in group
        if not isnan(one.result.effect.low)
        and {(m, one.strategy) for m in (one.a, one.b)} <= repeated
    ]
    wide = min((x.low for x in known), default=nan), max((x.high for x in known), default=nan)
    pairs = {(one.strategy, one.a, one.b): one.result.effect for one in report.comparisons}
    tasks = pairs.get((first.strategy, first.a, first.b))
    effect = 100 * sign * first.result.effect.mean
    low, high = sorted(100 * sign * end for end in wide)
    within = sorted(100 * sign * end for end in (tasks.low, tasks.high)) if tasks else (nan, nan)
    more = f" + {len(group) - 1}" if len(group) > 1 else ""
    return Row(
        name=f"{first.strategy}{more}" if headed else b,
        mean=effect,
        low=low,
        high=high,
        text=f"{effect:+.1f}",
        about=f"{a} minus {b}, {', '.join(str(one.strategy) for one in group)}: {effect:+.2f}",
        number=0,
        group=f"{a} minus {b}" if headed else f"{a} minus",
        within=within,
    )
