"""What selecting gives: selections by method, seed and strategy, and what was left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.statistics import Interval


@dataclass(frozen=True)
class Strategy:
    """A snapshot selector with a hyperparameter selector, as a sweep file names them.

    Attributes:
        snapshot, hyperparameter: names of the selectors.
        oracle: whether either reads novel scores.
    """

    snapshot: str
    hyperparameter: str
    oracle: bool

    def __str__(self) -> str:
        return f"{self.snapshot} / {self.hyperparameter}"


@dataclass(frozen=True)
class Selection:
    """What one strategy chose for one method and seed.

    Attributes:
        method, seed, strategy: which cell.
        trial, configuration, hyperparameters, epoch: the chosen snapshot.
        base, val, novel: its accuracies on the report tasks, with intervals over tasks.
        regret: NovelGen on the report tasks of the choice of oracle / oracle, for the same method
            and seed, minus this one's. The oracle chooses on the selection tasks and is reported
            on the others like every strategy, so that the regret may be slightly negative. NaN
            where the oracle has nothing to choose by.
        novel_evaluations: snapshots whose novel scores the strategy looked at: all snapshots of
            all configurations for an oracle snapshot selector, one a configuration for an oracle
            hyperparameter selector after another snapshot selector, else none.
        novel_tasks: accuracy of each report task of the novel classes, float64 ``[T]``.
    """

    method: str
    seed: int
    strategy: Strategy
    trial: str
    configuration: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    base: Interval
    val: Interval
    novel: Interval
    regret: float
    novel_evaluations: int
    novel_tasks: np.ndarray = field(repr=False, compare=False)


@dataclass(frozen=True)
class LeftOut:
    """Something that takes no part, and why.

    Attributes:
        method, seed: the replicate that it concerns.
        reason: for a person.
        trial, hyperparameters: the unusable trial; None where a selector is at fault.
        snapshot_selector, hyperparameter_selector: the strategies that it concerns; None for all.
    """

    method: str
    seed: int
    reason: str
    trial: str | None = None
    hyperparameters: Mapping[str, Any] | None = None
    snapshot_selector: str | None = None
    hyperparameter_selector: str | None = None

    def concerns(self, method: str, strategy: Strategy) -> bool:
        """Whether a cell of (method, strategy) lacks this."""
        return (
            self.method == method
            and self.snapshot_selector in (None, strategy.snapshot)
            and self.hyperparameter_selector in (None, strategy.hyperparameter)
        )


@dataclass(frozen=True)
class Selected:
    """All selections, and all that was left out.

    Attributes:
        methods: in plan order, those with nothing to show included.
        strategies: in the order that was asked for.
        selections: by method, seed and strategy, in that order.
        left_out: what takes no part.
    """

    methods: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    selections: tuple[Selection, ...]
    left_out: tuple[LeftOut, ...]

    def cell(self, method: str, strategy: Strategy) -> tuple[Selection, ...]:
        """The replicates of a cell; none at all where any planned part of it is left out."""
        if any(one.concerns(method, strategy) for one in self.left_out):
            return ()
        return tuple(
            one for one in self.selections if (one.method, one.strategy) == (method, strategy)
        )
