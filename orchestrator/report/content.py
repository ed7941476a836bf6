"""The content of a report: everything that its formats show, and nothing about how."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.report.answer.answer import Answer, answer_of
from fsl_sweep.orchestrator.report.cautions import cautions_of
from fsl_sweep.orchestrator.report.curves import Curve
from fsl_sweep.orchestrator.report.over_protocols import UnderProtocol
from fsl_sweep.orchestrator.report.tradeoff import TradeOff
from fsl_sweep.orchestrator.selection.budget_curve import BudgetPoint
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    MethodComparison,
    Ranking,
    by_strategy,
    compare_methods,
    conflicting,
)
from fsl_sweep.orchestrator.selection.comparing.over_seeds import (
    compare_over_seeds,
)
from fsl_sweep.orchestrator.selection.comparing.overtuning import Overtuning
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis
from fsl_sweep.orchestrator.selection.comparing.stability import Stability
from fsl_sweep.orchestrator.selection.comparing.strategies import StrategyComparison
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selection.ensembles import Ensemble
from fsl_sweep.orchestrator.selection.methods import Summary, TrialRankCorrelation
from fsl_sweep.orchestrator.selection.question import Question
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.selection.select import LeftOut, Selected


@dataclass(frozen=True)
class RunInfo:
    """What a report needs to know of a run beside its records.

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
        )


@dataclass(frozen=True)
class Cost:
    """Wall-clock seconds over all recorded epochs.

    Attributes:
        train_seconds, evaluation_seconds: in training and in measuring.
        everywhere: whether they are known of every trial that recorded an epoch.
    """

    train_seconds: float
    evaluation_seconds: float
    everywhere: bool = True


@dataclass(frozen=True, repr=False)
class Report:
    """Everything that a format may show.

    Attributes:
        info: the run.
        completeness: how much of the plan is there. All else is of whole seeds only.
        lead: the strategy that the answer speaks of; None where no method has any.
        selected: all selections, and what was left out.
        summaries, rankings: see ``summary``. Rankings, comparisons, differences and ``stability``
            are by the metric that was asked for; all else stays NovelGen's.
        needs: what would tell each pair of methods apart under the leading strategy; empty where
            nothing can be predicted.
        curves: learning curves of a few trials, and ``curves_total``, of how many.
        cost: what the run took; None where no seconds were recorded, as in a table.
        selectors: name, source and version of each selector in use.
        over_methods: strategies compared with each other over all methods, by regret.
        overtuning: what choosing a configuration lost against taking the first one.
        seedless: the methods that are not trained, and of which no two seeds differ.
        lossless: the methods without any training loss: programs, and what trains nothing.
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
    cost: Cost | None
    selectors: Mapping[str, Sequence[Mapping[str, str]]]
    over_methods: StrategyComparison
    overtuning: tuple[Overtuning, ...] = ()
    seedless: frozenset[str] = frozenset()
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
        """Pairs of methods on the common tasks: claims about these snapshots."""
        return compare_methods(self.summaries, self.rope)

    @cached_property
    def differences(self) -> tuple[MethodComparison, ...]:
        """Pairs of methods over seeds, by strategy: claims about methods."""
        return tuple(one for strategy in self._cells for one in self.differences_under(strategy))

    def differences_under(self, strategy: Strategy) -> tuple[MethodComparison, ...]:
        """Those of one strategy, whose tasks are read now."""
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

    def read_tasks(self) -> None:
        """Read the report tasks of all choices, which the answer does not need.

        Raises:
            Damaged: they are not those that were recorded.
        """
        under = [[c for one in u.summaries for c in one.choices] for u in self.over_protocols]
        for own in (self.selected.selections, *under):
            # Of each trial once: its chosen snapshots are read together.
            each = {(one.method, one.trial): one.scores for one in own}.values()
            for scores in each:
                scores("novel")

    @cached_property
    def rank_correlations(self) -> tuple[TrialRankCorrelation, ...]:
        """How well measures rank the snapshots of each trial, which the answer does not need."""
        return self.ranked()

    @cached_property
    def tradeoffs(self) -> tuple[TradeOff, ...]:
        """BaseGen and NovelGen of every configuration, by snapshot selector."""
        return self.traded()

    @cached_property
    def answer(self) -> Answer:
        """Who wins, which strategy to choose by, and what would decide it."""
        # pyright sees this file twice: here, and through src/.
        return answer_of(self)  # pyright: ignore[reportArgumentType]

    def named(self, method: str) -> str:
        """As of ``Completeness``."""
        return self.completeness.named(method)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before believing the numbers."""
        # pyright sees this file twice: here, and through src/.
        return cautions_of(self)  # pyright: ignore[reportArgumentType]

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What takes no part in the selections, and why."""
        return (*self.torn, *self.selected.left_out)

    @property
    def ranking_survives(self) -> bool | None:
        """Whether the strategies that are no oracles rank methods alike; None where none does."""
        return not conflicting(self.ranked_by) if self.ranked_by else None

    @property
    def ranked_by(self) -> tuple[Ranking, ...]:
        """The orders of two or more methods under strategies that are no oracles."""
        usual = (one for one in self.rankings if not one.strategy.oracle)
        return tuple(one for one in usual if len(one.methods) > 1)

    @property
    def base_weight(self) -> float | None:
        """The weight of BaseGen in what methods are compared by; None where that is NovelGen."""
        return self.selected.base_weight

    def __repr__(self) -> str:
        return f"<Report of {self.info.name!r}>"

    def _repr_html_(self) -> str:
        # A format is not loaded before there is something to show.
        from fsl_sweep.orchestrator.report.formats.notebook import report_shown

        return report_shown(self)  # pyright: ignore[reportArgumentType]
