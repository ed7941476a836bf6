"""What the selections say about each method: means over seeds, and how well measures rank."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from fsl_sweep.orchestrator.records.measures import Measure, TrialHistory
from fsl_sweep.orchestrator.selection.completeness import why_unusable
from fsl_sweep.orchestrator.selection.results import (
    Selected,
    Selection,
    Strategy,
    identical,
    over_seeds,
)
from fsl_sweep.orchestrator.statistics import (
    Interval,
    RankCorrelation,
    kendall_tau,
    mean_interval,
    mixture_interval,
)
from fsl_sweep.orchestrator.statistics.components import Accuracies
from fsl_sweep.orchestrator.statistics.moderation import DRAWS_NOTHING, SeedVariance
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.text.printed import counted

PREDICTORS: tuple[Measure, ...] = ("val", "base")


@dataclass(frozen=True)
class Summary:
    """One cell of the table: a method under a strategy.

    Attributes:
        method, strategy: which cell.
        novel: mean over seeds of the report accuracies, with its interval over seeds; over tasks
            where the method draws nothing.
        regret: mean over seeds, with its interval over seeds; None if there is no oracle.
        novel_evaluations: snapshots whose novel scores the strategy read, over all seeds.
        choices: the selections behind the cell, one for each seed.
        diverged: seeds that have none, because every configuration diverged there: the numbers are
            of the others, which flatters the method.
    """

    method: str
    strategy: Strategy
    novel: Interval
    regret: Interval | None
    novel_evaluations: int
    choices: tuple[Selection, ...]
    diverged: tuple[int, ...] = ()

    @property
    def lost_seeds(self) -> str | None:
        """Say ``PN diverged in 1 of 3 seeds``; None where it has all of its seeds."""
        lost, planned = len(self.diverged), len(self.diverged) + len(self.choices)
        return f"{self.method} diverged in {lost} of {counted(planned, 'seed')}" if lost else None

    @property
    def base_weight(self) -> float | None:
        """Of BaseGen in the mixture that methods are compared by; None for NovelGen."""
        return self.choices[0].base_weight

    @property
    def among_all(self) -> bool:
        """Return whether the method answers among all base classes, not those of a task."""
        return self.choices[0].snapshot.history.among_all

    @property
    def draws_nothing(self) -> bool:
        """Return whether it is known that no seed changes the method: it has one replicate."""
        return len(self.choices) == 1 and self.choices[0].snapshot.history.draws_nothing

    @cached_property
    def seed_variance(self) -> SeedVariance:
        """Return the variance between its seeds, by these seeds alone; none if all are equal."""
        if self.draws_nothing or identical(self.choices):
            return DRAWS_NOTHING
        means, seeds = [choice.reported_mean for choice in self.choices], len(self.choices)
        return SeedVariance(float(np.var(means, ddof=1)) if seeds > 1 else np.nan, seeds - 1)

    @cached_property
    def base(self) -> Interval:
        """As ``novel``, of BaseGen."""
        return _over_seeds("base", self.choices)

    @cached_property
    def val(self) -> Interval:
        """As ``novel``, of ValGen."""
        return _over_seeds("val", self.choices)

    @cached_property
    def novel_tasks(self) -> Interval | None:
        """NovelGen over the common report tasks, each averaged over seeds; None if not common."""
        tasks = self.common_tasks()
        return None if tasks is None else mean_interval(tasks)

    def common_tasks(self, measure: Literal["base", "novel"] = "novel") -> np.ndarray | None:
        """Return the accuracy of each report task, averaged over seeds, ``[T]``.

        None if the seeds have no common tasks, or fewer than two, which have no interval.
        """
        if measure not in self._task_means:
            tables = [choice.scores(measure)[1] for choice in self.choices]
            common = len({len(table) for table in tables}) == 1 and len(tables[0]) > 1
            # Rounded, so that a task on which two methods do equally well has a difference of zero.
            means = np.round(np.mean(tables, axis=0), 12) if common else None
            self._task_means[measure] = means
        return self._task_means[measure]

    @cached_property
    def _task_means(self) -> dict[str, np.ndarray | None]:
        return {}

    @cached_property
    def of_base(self) -> Accuracies:
        """As ``of_novel``, of BaseGen."""
        return Accuracies(np.array([choice.base_tasks for choice in self.choices]))

    @cached_property
    def of_novel(self) -> Accuracies:
        """NovelGen of each seed on the report tasks, which must be common."""
        return Accuracies(np.array([choice.novel_tasks for choice in self.choices]))

    @cached_property
    def reported(self) -> Interval:
        """Return what methods are compared by, over seeds: NovelGen, or the mixture.

        Source: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i).
        """
        if self.base_weight is None:
            return self.novel
        return over_seeds([choice.reported_mean for choice in self.choices], self.choices)

    @property
    def reported_tasks(self) -> Interval | None:
        """Return the same over the common report tasks; None if there are none."""
        if self.base_weight is None:
            return self.novel_tasks
        base, novel = self.common_tasks("base"), self.common_tasks()
        if base is None or novel is None:
            return None
        return mixture_interval(base, novel, self.base_weight)


@dataclass(frozen=True)
class TrialRankCorrelation:
    """How well a measure ranks the snapshots of one trial by NovelGen, on the selection tasks."""

    method: str
    trial: str
    seed: int
    measure: Measure
    result: RankCorrelation


@dataclass(frozen=True)
class MethodRankCorrelation:
    """How well a measure ranks the snapshots of each trial of a method by NovelGen.

    Attributes:
        last: how many last snapshots were ranked, or None for all.
        tau: mean over seeds, each the mean over its configurations, with its interval over seeds.
        by_seed: these means of the seeds.
        least, most: of all trials.
        trials: how many; those where a measure is constant have no tau, and are not among them.
        caution: why not to trust it, or None.
    """

    method: str
    measure: Measure
    last: int | None
    tau: Interval
    by_seed: tuple[float, ...]
    least: float
    most: float
    trials: int
    caution: str | None


def summarise(selected: Selected) -> tuple[Summary, ...]:
    """Return the complete cells, by method and strategy."""
    return tuple(
        Summary(
            method=method,
            strategy=strategy,
            novel=_over_seeds("novel", cell),
            regret=over_seeds(regrets, cell) if np.isfinite(regrets).all() else None,
            novel_evaluations=sum(choice.novel_evaluations for choice in cell),
            choices=cell,
            diverged=selected.diverged.get((method, strategy), ()),
        )
        for method in selected.methods
        for strategy in selected.strategies
        if (cell := selected.cell(method, strategy))
        for regrets in [[choice.regret for choice in cell]]
    )


def of_all_seeds(summaries: Sequence[Summary]) -> list[Summary]:
    """Return the cells with every seed that any strategy of their method has.

    The others lost seeds that diverged, and would be compared with strategies that kept them.
    """
    shared: dict[str, set[int]] = {}
    for cell in summaries:
        shared[cell.method] = shared.get(cell.method, {*cell.diverged}) & {*cell.diverged}
    return [cell for cell in summaries if {*cell.diverged} == shared[cell.method]]


def rank_correlations(
    histories: Iterable[TrialHistory], last: int | None = None
) -> tuple[TrialRankCorrelation, ...]:
    """Kendall's tau of val and of base against novel, for each complete full trial.

    Over all epochs, and with ``last`` also over so many last ones.

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


def by_method(correlations: Iterable[TrialRankCorrelation]) -> tuple[MethodRankCorrelation, ...]:
    """Kendall's tau by method, measure and window, for those of which some trial has one."""
    cells: dict[tuple[str, Measure, int | None], list[TrialRankCorrelation]] = defaultdict(list)
    for row in correlations:
        if np.isfinite(row.result.tau):
            cells[row.method, row.measure, row.result.last].append(row)
    return tuple(_over_trials(*key, alike) for key, alike in cells.items())


def _over_trials(
    method: str, measure: Measure, last: int | None, correlations: Sequence[TrialRankCorrelation]
) -> MethodRankCorrelation:
    taus: dict[int, list[float]] = defaultdict(list)
    for correlation in correlations:
        taus[correlation.seed].append(correlation.result.tau)
    by_seed = tuple(float(np.mean(of_seed)) for of_seed in taus.values())
    tau = mean_interval(by_seed, kind="seeds")
    # Ranks of a few snapshots are often equal: no sign of certainty.
    if len(np.unique(comparable(by_seed))) == 1:
        tau = replace(tau, low=np.nan, high=np.nan)
    every = [correlation.result.tau for correlation in correlations]
    caution = next(
        (c for correlation in correlations if (c := correlation.result.caution)), tau.caution
    )
    ends = min(every), max(every)
    return MethodRankCorrelation(method, measure, last, tau, by_seed, *ends, len(every), caution)


def same_choices(summaries: Sequence[Summary]) -> list[tuple[Summary, ...]]:
    """Cells of a method in groups, in order, that chose alike for every seed at the same cost.

    Their numbers are equal except those of the repeated selection. An oracle never shares a group
    with a strategy that is none.
    """

    def key(summary: Summary) -> Hashable:
        chosen = tuple((choice.seed, choice.trial, choice.epoch) for choice in summary.choices)
        return summary.method, chosen, summary.novel_evaluations, summary.strategy.oracle

    groups: dict[Hashable, list[Summary]] = defaultdict(list)
    for summary in summaries:
        groups[key(summary)].append(summary)
    return [tuple(group) for group in groups.values()]


def _over_seeds(measure: Measure, cell: Sequence[Selection]) -> Interval:
    if len(cell) == 1 and cell[0].snapshot.history.draws_nothing:
        return cell[0].scores(measure)[0]
    return over_seeds([choice.means[measure] for choice in cell], cell)


def _correlation(trial: TrialHistory, measure: Measure, last: int | None) -> RankCorrelation | None:
    ours, novel = (trial.scores[m, "selection"].means for m in (measure, "novel"))
    whole = np.isfinite(ours) & np.isfinite(novel)
    if not whole.any():
        return None
    return kendall_tau(comparable(ours[whole]), comparable(novel[whole]), last)
