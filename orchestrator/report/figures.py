"""The figures of the report, by the section that they belong to."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fsl_sweep.orchestrator.comparison import common_differences
from fsl_sweep.orchestrator.records import MEASURES, SHOWN_AS
from fsl_sweep.orchestrator.report import sparkline, wording
from fsl_sweep.orchestrator.report.content import Report
from fsl_sweep.orchestrator.report.curves import Curve
from fsl_sweep.orchestrator.report.drawing import (
    SIGN_GAP,
    Axis,
    Figure,
    Line,
    Mark,
    Panel,
    Part,
    Rule,
    Sign,
)
from fsl_sweep.orchestrator.report.groups import ORACLE
from fsl_sweep.orchestrator.report.tradeoff import TradeOff
from fsl_sweep.orchestrator.summary import Summary

PAIRS_SHOWN = 15
LINES_SHOWN = 6
STEPS = 200


def figures(report: Report) -> dict[str, list[Figure]]:
    """Figures by the key of their section; nothing where there is nothing to draw."""
    drawn = {
        "trade-off": [*_tradeoffs(report), *_mixtures(report)],
        "curves": [*_progressions(report)],
        "comparisons": [*_differences(report)],
        "budget": [*_budgets(report)],
    }
    return {key: found for key, found in drawn.items() if found}


def _tradeoffs(report: Report) -> Iterable[Figure]:
    shown = [one for one in report.tradeoffs if one.points]
    if not shown:
        return
    methods = list(report.selected.methods)
    points = [point for one in shown for point in one.points]
    x = Axis.around([100 * p.base for p in points], "BaseGen, %")
    y = Axis.around([100 * p.novel for p in points], "NovelGen, %")
    panels = [_tradeoff(one, methods, x, y) for one in shown]
    yield Figure(
        "trade-off",
        "Each mark is a configuration with the snapshots that the selector chose, on the report "
        "tasks, mean over seeds. Outlined and joined: the Pareto front, where no other "
        "configuration is better in one without being worse in the other.",
        methods,
        panels,
        shaped=True,
    )


def _tradeoff(one: TradeOff, methods: Sequence[str], x: Axis, y: Axis) -> Panel:
    front = sorted((100 * p.base, 100 * p.novel) for p in one.points if p.on_front)
    ends = [base for base, _ in front], [novel for _, novel in front]
    parts: list[Part] = [Line(*ends, None)] if len(front) > 1 else []
    for point in sorted(one.points, key=lambda point: point.on_front):
        base, novel = 100 * point.base, 100 * point.novel
        name = " ".join(filter(None, (point.method, wording.values(point.hyperparameters))))
        text = f"{name}: BaseGen {base:.2f}, NovelGen {novel:.2f}"
        parts.append(Mark(base, novel, methods.index(point.method), point.on_front, text))
    return Panel(", ".join(one.snapshots) + (ORACLE if one.oracle else ""), x, y, parts)


def _mixtures(report: Report) -> Iterable[Figure]:
    """The accuracy of a mixture of base and novel tasks is linear in its weight."""
    methods = list(report.selected.methods)
    alike: dict[tuple[object, ...], tuple[list[str], list[Summary]]] = {}
    for strategy in dict.fromkeys(s.strategy for s in report.summaries):
        own = [s for s in report.summaries if s.strategy == strategy]
        key = (strategy.oracle, *((s.method, s.base.mean, s.novel.mean) for s in own))
        mark = ORACLE if strategy.oracle else ""
        alike.setdefault(key, ([], own))[0].append(f"{strategy}{mark}")
    several = [(", ".join(names), _ends(own)) for names, own in alike.values() if len(own) > 1]
    if not several:
        return
    values = [v for _, ends in several[:LINES_SHOWN] for pair in ends.values() for v in pair]
    x, y = Axis(0, 1, "weight of BaseGen"), Axis.around(values, "against the mean, points")
    panels = []
    for title, ends in several[:LINES_SHOWN]:
        lines = [Line([0, 1], pair, methods.index(m)) for m, pair in ends.items()]
        at = [] if report.base_weight is None else [Rule(report.base_weight, "at", upright=True)]
        panels.append(Panel(title, x, y, [Rule(0.0, "zero"), *at, *lines]))
    more = len(several) - len(panels)
    yield Figure(
        "mixtures",
        "Methods by a mixture of both, in percentage points against the mean of the methods: "
        "NovelGen alone on the left, BaseGen alone on the right; where lines cross, the ranking "
        "changes. Strategies that chose alike share a panel."
        + (
            ""
            if report.base_weight is None
            else " Dashed: the mixture that methods are compared by."
        )
        + (f" {more} more are not drawn." if more else ""),
        methods,
        panels,
    )


def _ends(own: Sequence[Summary]) -> dict[str, tuple[float, float]]:
    """NovelGen and BaseGen of each method, in points against the mean of the methods."""
    table = 100 * np.array([[s.novel.mean, s.base.mean] for s in own])
    table = table - table.mean(axis=0)
    return {s.method: (float(a), float(b)) for s, (a, b) in zip(own, table, strict=True)}


def _progressions(report: Report) -> Iterable[Figure]:
    if not report.curves:
        return
    signs = sparkline.letters(report.info.snapshot)
    yield Figure(
        "progressions",
        "Accuracy on the selection tasks by epoch. Letters above a dashed line: the selectors that "
        "pick that epoch.",
        [SHOWN_AS[measure] for measure in MEASURES],
        [_progression(curve, signs) for curve in report.curves],
        signs=signs,
    )


def _progression(curve: Curve, signs: Mapping[str, str]) -> Panel:
    values = wording.values(curve.hyperparameters)
    title = ", ".join(part for part in (curve.method, values, f"seed {curve.seed}") if part)
    scores = {measure: 100 * curve.scores[measure] for measure in MEASURES}
    epochs = curve.epochs.astype(float).tolist()
    x = Axis.around(epochs, "epoch", 0.03)
    y = Axis.around(np.concatenate(list(scores.values())).tolist(), "accuracy, %")
    placed = _stacked(curve, x)
    parts: list[Part] = [Rule(at, "at", upright=True) for at in sorted({at for _, at, _ in placed})]
    parts += [Line(epochs, scores[m].tolist(), number) for number, m in enumerate(MEASURES)]
    parts += [Sign(at, row, signs[name]) for name, at, row in placed]
    return Panel(title, x, y, parts, 1 + max((row for _, _, row in placed), default=0))


def _stacked(curve: Curve, x: Axis) -> list[tuple[str, int, int]]:
    """Selector, epoch and row of each pick, so that signs do not cover each other."""
    rows: list[list[float]] = []
    placed: list[tuple[str, int, int]] = []
    for name, epoch in curve.picks.items():
        at = x.share(epoch)
        free = (i for i, row in enumerate(rows) if all(abs(at - one) >= SIGN_GAP for one in row))
        row = next(free, len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(at)
        placed.append((name, epoch, row))
    return placed


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
    ends = [float(v) for values, _ in lines.values() for v in (values[0], values[-1])]
    x = Axis.around([*ends, 0.0], "difference, percentage points")
    parts: list[Part] = [Rule(0.0, "zero", upright=True), Rule(0.5, "at")]
    parts += [Line(*_steps(*line), names.index(name)) for name, line in lines.items()]
    return Panel(title, x, Axis(0, 1.02, "share of tasks"), parts)


def _steps(values: np.ndarray, weights: np.ndarray) -> tuple[list[float], list[float]]:
    """The corners of a distribution function, at most ``STEPS`` of its steps.

    ``values [T]`` ascend; ``weights [T]`` are theirs, in any unit.
    """
    distinct, which = np.unique(values, return_inverse=True)
    total = np.cumsum(np.bincount(which, weights))
    shares = total / total[-1]
    kept = np.unique(np.linspace(0, len(distinct) - 1, STEPS).round().astype(int))
    across = np.repeat(distinct[kept], 2)
    up = np.concatenate([[0.0], np.repeat(shares[kept], 2)[:-1]])
    return across.tolist(), up.tolist()


def _budgets(report: Report) -> Iterable[Figure]:
    points = report.budget_curve
    if not points:
        return
    names = list(dict.fromkeys(f"{p.snapshot}, {p.allocation}" for p in points))
    x = Axis.around([p.budget for p in points], "novel evaluations of each seed")
    y = Axis.around([0.0, *(100 * p.regret.mean for p in points)], "regret, percentage points")
    panels = []
    for method in dict.fromkeys(p.method for p in points):
        parts: list[Part] = [Rule(0.0, "zero")]
        for number, name in enumerate(names):
            own = [
                p for p in points if (p.method, f"{p.snapshot}, {p.allocation}") == (method, name)
            ]
            at = [float(p.budget) for p in own], [100 * p.regret.mean for p in own]
            parts.append(Line(*at, number))
            parts += [Mark(budget, regret, number) for budget, regret in zip(*at, strict=True)]
        panels.append(Panel(method, x, y, parts))
    caption = "Regret of the budgeted oracle against oracle / oracle, mean over seeds."
    yield Figure("budget", caption, names, panels, shaped=True)
