"""The figures of the report, by the section that they belong to.

A panel draws itself on matplotlib's axes; ``painter`` makes SVG, PNG or PDF of it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.curves import Curve
from fsl_sweep.orchestrator.report.document.blocks import grouped
from fsl_sweep.orchestrator.report.figures.style import INK, MARKERS, SOFT, colour
from fsl_sweep.orchestrator.report.tradeoff import TradeOff, TradeOffPoint
from fsl_sweep.orchestrator.selection.comparison import common_differences
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.text.printed import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAIRS_SHOWN = 15
LINES_SHOWN = 6


@dataclass(frozen=True)
class Panel:
    """One plot: its title, and what draws it. Artists carry their legend entry as a label."""

    title: str
    draw: Callable[["Axes"], None]


@dataclass(frozen=True)
class Figure:
    """Panels with a caption and a legend in common.

    Attributes:
        name: which of the report's figures.
        caption: what it shows, in sentences.
        names: what the colours stand for, by their number.
        panels: at least one.
        shaped: whether the legend shows markers instead of lines.
    """

    name: str
    caption: str
    names: Sequence[str]
    panels: Sequence[Panel]
    shaped: bool = False


def figures(report: Report) -> dict[str, list[Figure]]:
    """Figures by the key of their section; nothing where there is nothing to draw."""
    drawn = {
        "trade-off": [*_tradeoffs(report), *_mixtures(report)],
        "curves": [*_progressions(report)],
        "comparisons": [*_differences(report)],
        "budget": [*_budgets(report)],
    }
    return {key: found for key, found in drawn.items() if found}


def _line(axes: "Axes", x: Sequence[float], y: Sequence[float], number: int, name: str) -> None:
    """A line in its colour; a single point is shown as a dot."""
    axes.plot(x, y, color=colour(number), marker="o" if len(x) == 1 else "", label=_label(name))


def _label(name: str) -> str:
    """A name as matplotlib's label, which would be hidden if it began with an underscore."""
    return f" {one_line(name)}"


def _tradeoffs(report: Report) -> Iterable[Figure]:
    shown = [one for one in report.tradeoffs if one.points]
    if not shown:
        return
    methods = list(report.selected.methods)
    every = [(100 * point.base, 100 * point.novel) for one in shown for point in one.points]
    yield Figure(
        "trade-off",
        "Each mark is a configuration with the snapshots that the selector chose, on the report "
        "tasks, mean over seeds. Outlined and joined: the Pareto front, where no other "
        "configuration is better in one without being worse in the other.",
        methods,
        [_tradeoff(one, methods, every) for one in shown],
        shaped=True,
    )


def _tradeoff(one: TradeOff, methods: Sequence[str], every: Sequence[tuple[float, float]]) -> Panel:
    """A panel whose axes hold ``every`` point of all panels."""

    def draw(axes: "Axes") -> None:
        axes.set(xlabel="BaseGen, %", ylabel="NovelGen, %")
        axes.update_datalim(every)
        front = sorted((100 * p.base, 100 * p.novel) for p in one.points if p.on_front)
        axes.plot(*zip(*front, strict=True), color=INK, linestyle="--", linewidth=1.2)
        for number, method in enumerate(methods):
            own = [point for point in one.points if point.method == method]
            marks = axes.scatter(
                [100 * point.base for point in own],
                [100 * point.novel for point in own],
                color=colour(number),
                edgecolors=[INK if point.on_front else colour(number) for point in own],
                marker=MARKERS[number % len(MARKERS)],
                label=_label(method),
                zorder=3,
            )
            marks.set_urls([_tooltip(point) for point in own])  # the painter shows them

    return Panel(", ".join(one.snapshots) + (wording.ORACLE if one.oracle else ""), draw)


def _tooltip(point: TradeOffPoint) -> str:
    """As HTML: it comes into the page through an attribute that matplotlib escapes once more."""
    name = f"{point.method} {wording.values(point.hyperparameters)}".rstrip()
    text = f"{name}: BaseGen {100 * point.base:.2f}, NovelGen {100 * point.novel:.2f}"
    return escape(one_line(text))


def _mixtures(report: Report) -> Iterable[Figure]:
    """The accuracy of a mixture of base and novel tasks is linear in its weight."""
    methods = list(report.selected.methods)

    def same(own: Sequence[Summary]) -> Hashable:
        return own[0].strategy.oracle, *((s.method, s.base.mean, s.novel.mean) for s in own)

    both = [one for one in report.summaries if np.isfinite(one.base.mean)]
    cells = [own for own in grouped(both, lambda s: s.strategy) if len(own) > 1]
    several = [
        (", ".join(wording.starred(own[0].strategy) for own in alike), _ends(alike[0]))
        for alike in grouped(cells, same)
    ]
    if not several:
        return
    shown = several[:LINES_SHOWN]
    every = [(x, y) for _, ends in shown for pair in ends.values() for x, y in enumerate(pair)]

    def panel(title: str, ends: Mapping[str, tuple[float, float]]) -> Panel:
        def draw(axes: "Axes") -> None:
            axes.set(xlabel="weight of BaseGen", ylabel="against the mean, points")
            axes.update_datalim(every)
            axes.axhline(0, color=SOFT, linewidth=0.9)
            if report.base_weight is not None:
                axes.axvline(report.base_weight, color=SOFT, linewidth=0.9, linestyle=":")
            for method, pair in ends.items():
                _line(axes, [0, 1], pair, methods.index(method), method)

        return Panel(title, draw)

    caption = (
        "Methods by a mixture of both, in percentage points against the mean of the methods: "
        "NovelGen only on the left, BaseGen only on the right; where lines cross, the ranking "
        "changes. Strategies that chose alike share a panel."
    )
    if report.base_weight is not None:
        caption += " Dashed: the mixture that methods are compared by."
    if len(several) > len(shown):
        caption += f" {len(several) - len(shown)} more are not drawn."
    yield Figure("mixtures", caption, methods, [panel(*one) for one in shown])


def _ends(own: Sequence[Summary]) -> dict[str, tuple[float, float]]:
    """NovelGen and BaseGen of each method, in points against the mean of the methods."""
    table = 100 * np.array([[s.novel.mean, s.base.mean] for s in own])
    table = table - table.mean(axis=0)
    return {s.method: (float(a), float(b)) for s, (a, b) in zip(own, table, strict=True)}


def _progressions(report: Report) -> Iterable[Figure]:
    if not report.curves:
        return
    yield Figure(
        "progressions",
        "Accuracy on the selection tasks by epoch. Dashed lines: the epochs that the snapshot "
        "selectors pick.",
        [SHOWN_AS[measure] for measure in MEASURES],
        list(map(_progression, report.curves)),
    )


def _progression(curve: Curve) -> Panel:
    def draw(axes: "Axes") -> None:
        axes.set(xlabel="epoch", ylabel="accuracy, %")
        for number, measure in enumerate(MEASURES):
            scores = (100 * curve.scores(measure)).tolist()
            _line(axes, curve.trial.epochs.tolist(), scores, number, SHOWN_AS[measure])
        for epoch in sorted(set(curve.picks.values())):
            name = ", ".join(name for name, picked in curve.picks.items() if picked == epoch)
            line = axes.axvline(epoch, color=SOFT, linewidth=0.9, linestyle=":")
            line.set(label=f" {epoch}: {one_line(name)}", url=escape(one_line(name)))
            axes.annotate(
                str(epoch), (epoch, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom"
            )

    one = curve.trial
    parts = (one.method, wording.values(one.hyperparameters), f"seed {one.seed}")
    return Panel(", ".join(filter(None, parts)), draw)


def _differences(report: Report) -> Iterable[Figure]:
    pairs = list(dict.fromkeys((c.a, c.b) for c in report.comparisons))
    if not pairs:
        return
    cells = {(s.method, s.strategy): s for s in report.summaries}
    strategies = list(dict.fromkeys(c.strategy for c in report.comparisons))
    usual = [s for s in strategies if not s.oracle] or strategies
    drawn: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for a, b in pairs[:PAIRS_SHOWN]:
        lines: dict[bytes, tuple[str, np.ndarray]] = {}
        for strategy in usual:
            both = cells.get((a, strategy)), cells.get((b, strategy))
            if (difference := _paired(*both, report.base_weight)) is not None:
                lines.setdefault(difference.tobytes(), (str(strategy), difference))
        drawn[a, b] = dict(list(lines.values())[:LINES_SHOWN])
    names = list(dict.fromkeys(name for lines in drawn.values() for name in lines))
    panels = [_difference(f"{a} minus {b}", lines, names) for (a, b), lines in drawn.items()]
    tasks = "the common report tasks"
    if (weight := report.base_weight) is not None:
        tasks = f"tasks of {wording.mixture(weight)}, base and novel weighted so"
    caption = (
        f"Of {tasks}, the share on which these snapshots of the two methods differ by at most so "
        "much, each task's accuracy averaged over seeds. A curve to the right of zero favours "
        "those of the first; it says nothing about training again. Strategies that chose alike "
        f"are drawn once, by the first one's name; at most {LINES_SHOWN} a panel."
    )
    if len(pairs) > PAIRS_SHOWN:
        caption += f" {PAIRS_SHOWN} of {len(pairs)} pairs are drawn."
    yield Figure("differences", caption, names, panels)


def _paired(a: Summary | None, b: Summary | None, base_weight: float | None) -> np.ndarray | None:
    """Differences of tasks in percentage points, ascending, and their weights: ``[2, T]``.

    None if tasks are not common. Where methods are compared by a mixture, base and novel tasks
    together weigh as much as they do in it.
    """
    if a is None or b is None:
        return None
    novel = common_differences(a, b, "novel")
    if base_weight is None or novel is None:
        return None if novel is None else np.stack([np.sort(100 * novel), np.ones(len(novel))])
    base = common_differences(a, b, "base")
    if base is None:
        return None
    values = np.concatenate([100 * base, 100 * novel])
    parts = ((base_weight, base), (1 - base_weight, novel))
    weights = np.concatenate([np.full(len(x), w / len(x)) for w, x in parts])
    order = np.argsort(values, kind="stable")
    return np.stack([values, weights])[:, order[weights[order] > 0]]


def _difference(title: str, lines: Mapping[str, np.ndarray], names: Sequence[str]) -> Panel:
    def draw(axes: "Axes") -> None:
        axes.set(xlabel="difference, percentage points", ylabel="share of tasks", ylim=(0, 1.02))
        axes.axvline(0, color=SOFT, linewidth=0.9)
        axes.axhline(0.5, color=SOFT, linewidth=0.9, linestyle=":")
        for name, line in lines.items():
            values, weights = line
            share, shade = weights / weights.sum(), colour(names.index(name))
            axes.ecdf(values, share, compress=True, color=shade, label=_label(name))

    return Panel(title, draw)


def _budgets(report: Report) -> Iterable[Figure]:
    points = report.budget_curve
    if not points:
        return
    names = list(dict.fromkeys(f"{p.snapshot}, {p.allocation}" for p in points))
    every = [(p.budget, y) for p in points for y in (0.0, 100 * p.regret.mean)]

    def panel(method: str) -> Panel:
        def draw(axes: "Axes") -> None:
            axes.set(xlabel="novel evaluations of each seed", ylabel="regret, percentage points")
            axes.update_datalim(every)
            axes.axhline(0, color=SOFT, linewidth=0.9)
            for number, name in enumerate(names):
                own = [
                    (p.budget, 100 * p.regret.mean)
                    for p in points
                    if (p.method, f"{p.snapshot}, {p.allocation}") == (method, name)
                ]
                marker = MARKERS[number % len(MARKERS)]
                axes.plot(
                    *np.array(own).T, marker, ls="-", color=colour(number), label=_label(name)
                )

        return Panel(method, draw)

    methods = dict.fromkeys(p.method for p in points)
    caption = "Regret of the budgeted oracle against oracle / oracle, mean over seeds."
    yield Figure("budget", caption, names, list(map(panel, methods)), shaped=True)
