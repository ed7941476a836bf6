"""Forest plots: a row for each interval, in groups, of methods, differences and benchmarks."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isfinite, isnan, nan
from typing import Any

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import BenchmarksContent, RunContent
from fsl_sweep.orchestrator.report.document import benchmarks
from fsl_sweep.orchestrator.report.document.blocks import Bar, grouped
from fsl_sweep.orchestrator.report.document.forest import forest as blocks_of
from fsl_sweep.orchestrator.report.figures.panel import Axes, Figure, Panel, cut
from fsl_sweep.orchestrator.report.figures.style import INK, RULES, SOFT, colour, label, tooltip
from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison

LONGEST = 26
"""Characters of a row's name; what is cut is in the tooltip."""

_THICK = 7
"""Points of a narrow interval's height: more than its mark's, which hides none, however short."""

_AT_ROW: Any = {"xycoords": ("axes fraction", "data"), "va": "center"}
"""Of a text: at a share of the width, and at a row."""

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
        yield Figure("forest", caption, (), [panel_of(shown, plot.title, off=plot.off)])


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
    low, high = wording.bounded(low), wording.bounded(high)
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


def regrets(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw what choosing by each strategy costs, as the forest plot of the answer."""
    for plot in benchmarks.regrets(report):
        caption = (
            f"Regret against {wording.FULL_ORACLE}, mean over methods. {plot.note} Small dots: "
            "benchmarks. Less is better."
        )
        panel = panel_of(plot.bars, plot.title, digits=".2f", zero=True)
        yield Figure("regret", caption, (), [panel])


def benchmark_methods(report: BenchmarksContent) -> Iterable[Figure]:
    """Draw each method under the leading strategy, the best first."""
    if report.over is None or not report.over.methods:
        return
    cells = sorted(enumerate(report.over.methods), key=lambda cell: -cell[1].mean.mean)
    bars = [
        replace(benchmarks.bar_of(cell.method, cell.mean, cell.means), number=number)
        for number, cell in cells
    ]
    metric = wording.metric(report.base_weight)
    caption = (
        f"{metric} under {report.lead}. {benchmarks.intervals(report)} Small dots: benchmarks. "
        "Methods share the benchmarks, so that those that differ may overlap: the differences "
        "below are paired."
    )
    yield Figure("methods", caption, (), [panel_of(bars, f"{metric}, %")])


def panel_of(
    bars: Sequence[Bar],
    scale: str,
    legend: Sequence[str] = (),
    *,
    digits: str = ".1f",
    zero: bool = False,
    off: Sequence[str] = (),
) -> Panel:
    """Return a panel of bars from top to bottom; those of a group follow each other.

    Args:
        bars: at least one.
        scale: name of the horizontal axis.
        legend: names of the wide and of the narrow interval; none if bars need no legend.
        digits: how the mean is written on the right.
        zero: whether to mark zero.
        off: the groups that are left of the scale.
    """
    lines: list[Bar | str] = []
    for i, bar in enumerate(bars):
        if bar.group and (i == 0 or bars[i - 1].group != bar.group):
            lines.append(bar.group)
        lines.append(bar)
    longest = max(min(len(_name(bar)), LONGEST) for bar in bars)
    heading = 2 * LONGEST - longest  # within the plane, in bold
    names = {i: _name(line) for i, line in enumerate(lines) if isinstance(line, Bar)}

    def draw(axes: Axes) -> None:
        axes.set(ylim=(len(lines) - 0.4, -0.6))
        if off:
            axes.set(xlim=_limits([bar for bar in bars if _group(bar) not in off]))
        # A long one is wider than the plane, and has room at its left.
        axes.set_xlabel(scale, loc="right" if len(scale) > LONGEST else "center")
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_yticks([*names], [cut(name, LONGEST) for name in names.values()])
        for at, line in enumerate(lines):
            if isinstance(line, Bar):
                if zero:
                    axes.plot([0, 0], [at - 0.5, at + 0.5], color=SOFT, linewidth=0.9)
                _draw(axes, at, line, f" {line.mean:{digits}}", wide=(legend or [""])[0])
                if _group(line) in off:
                    axes.annotate("<", (0.01, at), color=colour(line.number), **_AT_ROW)
            else:
                axes.annotate(cut(line, heading), (0.01, at), weight="bold", **_AT_ROW)
                axes.axhline(at - 0.5, color=RULES, linewidth=0.6)
        if len(legend) > 1:
            axes.plot([], [], color=colour(1), linewidth=_THICK, label=label(legend[1]))

    return Panel("", draw, lines=len(lines), plane=False, longest=longest)


def _limits(bars: Sequence[Bar]) -> tuple[float, float]:
    """Return the ends of a scale that holds these bars, with some room beside them."""
    every = [value for bar in bars for value in (bar.low, bar.mean, bar.high, *bar.values)]
    low, high = (end(filter(isfinite, every)) for end in (min, max))
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _group(bar: Bar) -> str:
    """Return what a bar belongs to; one that stands by itself has only a name."""
    return bar.group or bar.names[0]


def _name(bar: Bar) -> str:
    """Return the first name, and how many more share the bar."""
    return bar.names[0] + (f" + {len(bar.names) - 1}" if len(bar.names) > 1 else "")


def _draw(axes: Axes, at: int, bar: Bar, text: str, wide: str) -> None:
    """Draw the wide interval as a line, the narrow one thick, the mean, and single values below."""
    shade = SOFT if bar.reference else colour(bar.number)
    thick = isfinite(bar.within[0])
    if thick:
        axes.plot(bar.within, [at, at], color=colour(1), linewidth=_THICK, solid_capstyle="butt")
    if isfinite(bar.low):
        ends: dict[str, Any] = {"marker": "|", "markersize": 4, "markeredgewidth": 1.0}
        named = label(wide) if wide else None
        axes.plot([bar.low, bar.high], [at, at], color=shade, linewidth=1.0, label=named, **ends)
    if len(bar.values) > 1:
        places = [at + 0.3] * len(bar.values)
        axes.scatter(bar.values, places, s=4, color=shade, linewidths=0)
    look: dict[str, Any] = {"color": shade, "s": 8 if thick else 20}
    if bar.reference:
        look |= {"marker": "D", "facecolors": "#ffffff", "s": 14}
    mark = axes.scatter([bar.mean], [at], edgecolors=shade, linewidths=0.9, zorder=3, **look)
    mark.set_urls([tooltip(bar.about)])
    axes.annotate(text, (1, at), color=SOFT, annotation_clip=False, **_AT_ROW)
