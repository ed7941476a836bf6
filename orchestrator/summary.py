"""What the selections say about methods: means over seeds, comparisons, rankings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fsl_sweep.orchestrator.records import Measure, TrialHistory
from fsl_sweep.orchestrator.selected import over_seeds
from fsl_sweep.orchestrator.selection import Selected, Selection, Strategy, why_unusable
from fsl_sweep.orchestrator.statistics import (
    Comparison,
    Interval,
    RankCorrelation,
    compare,
    compare_mixtures,
    correct_family,
    kendall_tau,
    mean_interval,
)
from fsl_sweep.orchestrator.statistics.ties import comparable

PREDICTORS: tuple[Measure, ...] = ("val", "base")


@dataclass(frozen=True)
class Summary:
    """One cell of the table: a method under a strategy.

    Attributes:
        method, strategy: which cell.
        base, val, novel: mean over seeds of the report accuracies, with intervals over seeds.
        novel_tasks: NovelGen with its interval over the common report tasks, each task's
            accuracy averaged over the seeds; None where the seeds had no common tasks.
        regret: mean over seeds, with its interval over seeds; None where there is no oracle.
        novel_evaluations: snapshots whose novel scores the strategy looked at, over all seeds.
        choices: the selections behind the cell, one a seed.
    """

    method: str
    strategy: Strategy
    base: Interval
    val: Interval
    novel: Interval
    novel_tasks: Interval | None
    regret: Interval | None
    novel_evaluations: int
    choices: tuple[Selection, ...]

    def reported(self, base_weight: float | None = None) -> Interval:
        """What methods are compared by, over seeds: NovelGen, or a mixture with BaseGen in it."""
        if base_weight is None:
            return self.novel
        return over_seeds([one.accuracy(base_weight) for one in self.choices], self.choices)


@dataclass(frozen=True)
class MethodComparison:
    """Method a against method b under one strategy, on the common report tasks.

    Attributes:
        strategy, a, b: what is compared.
        result: verdict on a, after Holm's correction over all pairs of methods of the strategy.
        survives: whether the order of the two is the same under every strategy that has both.
    """

    strategy: Strategy
    a: str
    b: str
    result: Comparison
    survives: bool


@dataclass(frozen=True)
class Ranking:
    """Methods under one strategy, best first; equals in plan order."""

    strategy: Strategy
    methods: tuple[str, ...]


@dataclass(frozen=True)
class TrialRankCorrelation:
    """How well a measure ranks the snapshots of one trial by NovelGen, on the selection tasks."""

    method: str
    trial: str
    seed: int
    measure: Measure
    result: RankCorrelation


def summarise(selected: Selected) -> tuple[Summary, ...]:
    """The cells that nothing planned is missing from, by method and strategy."""
    return tuple(
        _summary(method, strategy, cell)
        for method in selected.methods
        for strategy in selected.strategies
        if (cell := selected.cell(method, strategy))
    )


def compare_methods(
    summaries: Sequence[Summary], rope: float = 0.0, base_weight: float | None = None
) -> tuple[MethodComparison, ...]:
    """Every pair of methods under every strategy, paired on the common report tasks.

    By NovelGen, or with ``base_weight`` by the mixture in which BaseGen has that weight. The
    family of Holm's correction is what one strategy claims: its pairs of methods. Pairs without
    common tasks are passed over.
    """
    found: list[tuple[Strategy, str, str, Comparison]] = []
    for strategy in dict.fromkeys(summary.strategy for summary in summaries):
        cells = [summary for summary in summaries if summary.strategy == strategy]
        novel = {s.method: task_means(s.choices) for s in cells}
        base = {s.method: task_means(s.choices, "base") for s in cells if base_weight is not None}
        pairs = [
            (a, b, result)
            for a, b in combinations(novel, 2)
            if (result := _compared(a, b, novel, base, rope, base_weight)) is not None
        ]
        corrected = correct_family([comparison for _, _, comparison in pairs])
        found += [(strategy, a, b, c) for (a, b, _), c in zip(pairs, corrected, strict=True)]
    signs: dict[tuple[str, str], set[float]] = {}
    for _, a, b, comparison in found:
        signs.setdefault((a, b), set()).add(float(np.sign(comparable(comparison.effect.mean))))
    return tuple(MethodComparison(s, a, b, c, len(signs[a, b]) == 1) for s, a, b, c in found)


def rank_methods(
    summaries: Sequence[Summary], base_weight: float | None = None
) -> tuple[Ranking, ...]:
    """The order of methods under each strategy, by what ``compare_methods`` compares them by."""
    rankings = []
    for strategy in dict.fromkeys(summary.strategy for summary in summaries):
        cells = [summary for summary in summaries if summary.strategy == strategy]
        means = comparable([summary.reported(base_weight).mean for summary in cells])
        best_first = np.argsort(-means, kind="stable")
        rankings.append(Ranking(strategy, tuple(cells[i].method for i in best_first)))
    return tuple(rankings)


def rank_correlations(
    histories: Iterable[TrialHistory], last: int | None = None
) -> tuple[TrialRankCorrelation, ...]:
    """Kendall's tau of val and of base against novel, for each whole trial on all base classes.

    Over all epochs, and with ``last`` over the last so many too.

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.1 and figure 2(b).
    """
    return tuple(
        TrialRankCorrelation(trial.method, trial.trial, trial.seed, measure, correlation)
        for trial in histories
        if trial.fold is None and why_unusable(trial) is None
        for measure in PREDICTORS
        for window in ([None] if last is None else [None, last])
        if (correlation := _correlation(trial, measure, window)) is not None
    )


def task_means(
    choices: Sequence[Selection], measure: Literal["base", "novel"] = "novel"
) -> np.ndarray | None:
    """Accuracy of each common report task, averaged over seeds, ``[T]``; None if not common."""
    return common_means(
        [choice.novel_tasks if measure == "novel" else choice.base_tasks for choice in choices]
    )


def common_differences(
    a: Summary, b: Summary, measure: Literal["base", "novel"]
) -> np.ndarray | None:
    """Accuracy of a minus that of b on each common report task ``[T]``; None if not common."""
    pair = _paired(task_means(a.choices, measure), task_means(b.choices, measure))
    return None if pair is None else pair[0] - pair[1]


def common_means(tables: Sequence[np.ndarray]) -> np.ndarray | None:
    """The mean of tables ``[T]`` on common tasks.

    None where the tasks are not common, or are fewer than two, which have no interval.
    """
    counts = {len(table) for table in tables}
    if len(counts) != 1 or min(counts) < 2:
        return None
    # Rounded, so that a task on which two methods do equally well has a difference of zero.
    return np.round(np.mean(tables, axis=0), 12)


def _compared(
    a: str,
    b: str,
    novel: Mapping[str, np.ndarray | None],
    base: Mapping[str, np.ndarray | None],
    rope: float,
    base_weight: float | None,
) -> Comparison | None:
    """None where the two have no common tasks."""
    on_novel = _paired(novel[a], novel[b])
    if base_weight is None or on_novel is None:
        return None if on_novel is None else compare(*on_novel, rope)
    on_base = _paired(base[a], base[b])
    return None if on_base is None else compare_mixtures(on_base, on_novel, base_weight, rope)


def _paired(
    first: np.ndarray | None, second: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    if first is None or second is None or len(first) != len(second):
        return None
    return first, second


def _summary(method: str, strategy: Strategy, cell: tuple[Selection, ...]) -> Summary:
    tasks = task_means(cell)
    regrets = [one.regret for one in cell]
    return Summary(
        method=method,
        strategy=strategy,
        base=over_seeds([one.base.mean for one in cell], cell),
        val=over_seeds([one.val.mean for one in cell], cell),
        novel=over_seeds([one.novel.mean for one in cell], cell),
        novel_tasks=None if tasks is None else mean_interval(tasks),
        regret=over_seeds(regrets, cell) if np.isfinite(regrets).all() else None,
        novel_evaluations=sum(one.novel_evaluations for one in cell),
        choices=cell,
    )


def _correlation(trial: TrialHistory, measure: Measure, last: int | None) -> RankCorrelation | None:
    ours, novel = (trial.scores[m, "selection"].means for m in (measure, "novel"))
    whole = np.isfinite(ours) & np.isfinite(novel)
    if not whole.any():
        return None
    return kendall_tau(comparable(ours[whole]), comparable(novel[whole]), last)
