"""The content of a report: everything that its formats show, and nothing about how.

What is said of it lies above: the answer, the cautions, the document.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.report.configurations import Curve, TradeOff
from fsl_sweep.orchestrator.report.over_protocols import UnderProtocol
from fsl_sweep.orchestrator.selection.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    MethodComparison,
    Ranking,
    by_strategy,
    compare_methods,
    compare_over_seeds,
    conflicting,
)
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import OverBenchmarks
from fsl_sweep.orchestrator.selection.comparing.overtuning import Overtuning
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis
from fsl_sweep.orchestrator.selection.comparing.stability import Stability
from fsl_sweep.orchestrator.selection.comparing.strategies import StrategyComparison
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.ensembles import Ensemble
from fsl_sweep.orchestrator.selection.methods import Summary, TrialRankCorrelation
from fsl_sweep.orchestrator.selection.question import Question
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Selection, Strategy
from fsl_sweep.orchestrator.selection.select import LeftOut, Selected
from fsl_sweep.orchestrator.statistics import SelectionBootstrap


@dataclass(frozen=True)
class RunInfo:
    """A run without its records, and what is asked of it.

    Attributes:
        name: the sweep's name.
        sweep_hash: digest of the sweep's content.
        fingerprint: of the benchmark's content; None where nothing was measured yet, or where the
            records are those of a table.
        snapshot, hyperparameter: names of the selectors to compare, in order.
        parts: name, source and version of each learner, backbone and benchmark in use.
        versions: versions of packages that the run was made with.
        cautions: what the plan warns of.
        metric: what methods are compared by: ``novel``, or ``mixture(w)``.
        protocol: the protocol of the report tasks; None for the records of a table.
        chosen_by: that of the selection tasks.
        protocols: those that the chosen snapshots may be compared under.
        as_planned: whether no choices but those of the sweep file were asked for: its selectors,
            under the main protocol.
        scope: which methods and configurations take part, as a sentence; empty for all.
        classes: names of the classes of each measure under ``protocol``; none where not recorded.
        few: whether only the pairs of selectors that papers report are strategies.
        scheduler: the rule by which configurations were stopped early, if any.
        proposed: how many configurations a search has proposed, and of how many, by method.
    """

    name: str
    sweep_hash: str
    fingerprint: str | None
    snapshot: tuple[str, ...]
    hyperparameter: tuple[str, ...]
    parts: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str | None] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    metric: str = "novel"
    protocol: PlannedProtocol | None = None
    chosen_by: PlannedProtocol | None = None
    protocols: tuple[PlannedProtocol, ...] = ()
    as_planned: bool = True
    scope: str = ""
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    few: bool = False
    scheduler: Scheduler | None = None
    proposed: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def question(self) -> Question:
        """Return what is asked of the run."""
        return Question(
            self.snapshot,
            self.hyperparameter,
            self.metric,
            self.protocol,
            self.chosen_by,
            self.as_planned,
            few=self.few,
        )


@dataclass(frozen=True)
class Answer:
    """What a reader wants to know first.

    Attributes:
        sentences: the whole answer, for a person.
        best: the method with the best mean under the strategy; None where there is none, where
            several are equal, or where only novel scores choose.
        decided: whether nothing is missing and the best is better than every other method.
        strategy: the one that this is about.
        needs: what would tell the best from the next that is not decided; empty where that is not
            known.
    """

    sentences: tuple[str, ...]
    best: str | None = None
    decided: bool = False
    strategy: Strategy | None = None
    needs: tuple[PowerAnalysis, ...] = ()


@dataclass(frozen=True, repr=False)
class RunContent:
    """Everything that a format may show of a run.

    Attributes:
        info: the run.
        completeness: how much of the plan is there. All else is of complete seeds only.
        lead: the strategy that the answer speaks of; None where no method has any.
        selected: all selections, and what was left out.
        summaries, rankings: see ``summary``. Rankings, comparisons, differences and ``stability``
            are by the metric that was asked for; all else stays NovelGen's.
        needs: what would tell each pair of methods apart under the leading strategy; empty where
            nothing can be predicted.
        curves: learning curves of a few trials, and ``curves_total``, of how many.
        cost: wall-clock seconds of training and of measuring, and whether they are known of every
            trial that recorded an epoch; None where no trial has any, as in a table.
        selectors: name, source and version of each selector in use.
        over_methods: strategies compared with each other over all methods, by regret.
        overtuning: what choosing a configuration lost against taking the first one.
        lossless: the methods without any training loss: submissions, and what trains nothing.
        torn: the planned full trials that are not usable. Their seeds take no part.
        resampled: the cells of the table with the selection repeated on resampled tasks and
            seeds; empty where that was not done.
        stability: what each strategy's ranking of methods survives.
        ranked: gives ``rank_correlations``.
        budget_curve: regret against novel evaluations, where a strategy has a budget.
        traded: gives ``tradeoffs``.
        over_protocols: the chosen snapshots under each protocol.
        partly: the protocol of the report if not every snapshot is measured under it: there is no
            interval with the selection where a resample chose one that is not.
        ensembles: votes of snapshots, where they were asked for.
        rope: difference in accuracy up to which two methods count as equivalent.
    """

    info: RunInfo
    completeness: Completeness
    lead: Strategy | None
    selected: Selected
    summaries: tuple[Summary, ...]
    rankings: tuple[Ranking, ...]
    needs: tuple[PowerAnalysis, ...]
    ranked: Callable[[], tuple[TrialRankCorrelation, ...]]
    curves: tuple[Curve, ...]
    curves_total: int
    cost: tuple[float, float, bool] | None
    selectors: Mapping[str, Sequence[Mapping[str, str]]]
    over_methods: StrategyComparison
    overtuning: tuple[Overtuning, ...] = ()
    lossless: frozenset[str] = frozenset()
    torn: tuple[LeftOut, ...] = ()
    resampled: tuple[ResampledCell, ...] = ()
    stability: tuple[Stability, ...] = ()
    budget_curve: tuple[BudgetPoint, ...] = ()
    traded: Callable[[], tuple[TradeOff, ...]] = tuple
    over_protocols: tuple[UnderProtocol, ...] = ()
    partly: PlannedProtocol | None = None
    ensembles: tuple[Ensemble, ...] = ()
    rope: float = 0.0

    @cached_property
    def comparisons(self) -> tuple[MethodComparison, ...]:
        """Return pairs of methods on the common tasks: claims about these snapshots."""
        return compare_methods(self.summaries, self.rope)

    @cached_property
    def differences(self) -> tuple[MethodComparison, ...]:
        """Return pairs of methods over seeds, by strategy: claims about methods."""
        return tuple(pair for strategy in self._cells for pair in self.differences_under(strategy))

    def summaries_of(self, strategy: Strategy) -> Sequence[Summary]:
        """Return the cells of the table of one strategy, in plan order."""
        return self._cells.get(strategy, ())

    def differences_under(self, strategy: Strategy) -> tuple[MethodComparison, ...]:
        """Return those of one strategy, whose tasks are read now."""
        if strategy not in self._differences:
            cells = self._cells[strategy]
            self._differences[strategy] = compare_over_seeds(
                cells, self.resampled, self.rope, complete=self.completeness.complete
            )
        return self._differences[strategy]

    @cached_property
    def _cells(self) -> dict[Strategy, list[Summary]]:
        return by_strategy(self.summaries)

    @cached_property
    def _differences(self) -> dict[Strategy, tuple[MethodComparison, ...]]:
        return {}

    @cached_property
    def repeated(self) -> Mapping[tuple[str, Strategy], ResampledCell]:
        """Return the cells whose selection was repeated, by method and strategy."""
        return {(cell.method, cell.strategy): cell for cell in self.resampled}

    def interval_of(self, cell: Summary) -> SelectionBootstrap | None:
        """Return the interval that repeats the selection, of what methods are compared by."""
        repeated = self.repeated.get((cell.method, cell.strategy))
        if repeated is None:
            return None
        return repeated.result if self.base_weight is None else repeated.mixed

    def read_tasks(self) -> None:
        """Read the report tasks of all choices, which the answer does not need.

        Raises:
            Damaged: they are not those that were recorded.
        """
        chosen: list[Sequence[Selection]] = [self.selected.selections]
        for under in self.over_protocols:
            chosen.append([choice for cell in under.summaries for choice in cell.choices])
        for choices in chosen:
            # Of each trial once: its chosen snapshots are read together.
            for scores in {(c.method, c.trial): c.scores for c in choices}.values():
                scores("novel")

    @cached_property
    def rank_correlations(self) -> tuple[TrialRankCorrelation, ...]:
        """Return how well measures rank the snapshots of each trial; the answer needs none."""
        return self.ranked()

    @cached_property
    def tradeoffs(self) -> tuple[TradeOff, ...]:
        """Return BaseGen and NovelGen of every configuration, by snapshot selector."""
        return self.traded()

    def named(self, method: str) -> str:
        """Return the method with how much of it is there, as of ``Completeness``."""
        return self.completeness.named(method)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Return what takes no part in the selections, and why."""
        return (*self.torn, *self.selected.left_out)

    @property
    def ranking_survives(self) -> bool | None:
        """Return whether strategies that are no oracles rank methods alike; None without any."""
        return not conflicting(self.ranked_by) if self.ranked_by else None

    @property
    def ranked_by(self) -> tuple[Ranking, ...]:
        """Return the orders of two or more methods under strategies that are no oracles."""
        usual = (ranking for ranking in self.rankings if ranking.strategy.usual)
        return tuple(ranking for ranking in usual if len(ranking.methods) > 1)

    @property
    def name(self) -> str:
        """Return the sweep's name."""
        return self.info.name

    @property
    def complete(self) -> bool:
        """Return whether nothing is missing from the report."""
        return self.completeness.complete

    @property
    def base_weight(self) -> float | None:
        """Return the weight of BaseGen in what methods are compared by; None for NovelGen."""
        return self.selected.base_weight

    def __repr__(self) -> str:
        return f"<Report of {self.name!r}>"


@dataclass(frozen=True, repr=False)
class BenchmarksContent:
    """Everything that a format may show of several benchmarks.

    Attributes:
        name: of all of them.
        reports: by benchmark, each as if it stood by itself.
        lead: the strategy that methods are compared under; None where no benchmark has any.
        over: what they say together; None where they have no strategy in common.
    """

    name: str
    reports: Mapping[str, RunContent]
    lead: Strategy | None
    over: OverBenchmarks | None

    @property
    def complete(self) -> bool:
        """Return whether nothing that is planned is missing from any benchmark."""
        return all(report.complete for report in self.reports.values())

    @property
    def absent(self) -> Mapping[str, Sequence[str]]:
        """Return the methods that benchmarks lack, as of ``OverBenchmarks``."""
        return {} if self.over is None else self.over.absent

    @property
    def base_weight(self) -> float | None:
        """Return the weight of BaseGen, as of ``RunContent``; the same in all benchmarks."""
        return next(iter(self.reports.values())).base_weight

    def __repr__(self) -> str:
        return f"<Report of {self.name!r}>"


Content = RunContent | BenchmarksContent
"""Everything that a format may show, of a run or of several benchmarks."""
