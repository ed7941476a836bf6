"""Selections by method, seed and strategy, and what was left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.records.measures import Measure, ScoreTable, TrialHistory
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics import (
    Interval,
    mean_alone,
    mean_interval,
    mean_of_identical,
    mixture_interval,
)
from fsl_sweep.orchestrator.text.printed import counted


@dataclass(frozen=True)
class Strategy:
    """A snapshot selector with a hyperparameter selector, as a sweep file names them.

    Attributes:
        snapshot, hyperparameter: names of the selectors.
        oracle: whether either reads novel scores.
        cross_validated: whether either reads what class folds measured.
    """

    snapshot: str
    hyperparameter: str
    oracle: bool
    cross_validated: bool = False

    def __str__(self) -> str:
        return f"{self.snapshot} / {self.hyperparameter}"


Scores = tuple[Interval, np.ndarray]
"""A mean over report tasks with its interval, and the accuracy on each; none if not known."""


@final
class Tasks:
    """Some snapshots of a trial on the report tasks, each measure read when it is asked for.

    Args:
        tables: of the trial, by measure.
        rows: positions of snapshots that are measured.
    """

    def __init__(self, tables: Mapping[Measure, ScoreTable], rows: Sequence[int]) -> None:
        self._tables, self._rows = tables, list(rows)
        self._read: dict[Measure, dict[int, Scores]] = {}

    def of(self, row: int, measure: Measure) -> Scores:
        """The scores of one of the snapshots by its position. Raises as ``ScoreTable.load``."""
        if measure not in self._read:
            table = self._tables[measure]
            self._read[measure] = {
                at: (replace(mean_interval(own), mean=float(table.means[at])), own)
                if table.per_task
                else (mean_alone(float(own[0])), own[:0])
                for at, own in zip(self._rows, table.load()[self._rows], strict=True)
            }
        return self._read[measure][row]


class ReportScores(NamedTuple):
    """A snapshot on the report tasks. Attributes as of ``Selection``."""

    means: Mapping[Measure, float]
    scores: Callable[[Measure], Scores]


@dataclass(frozen=True)
class Selection:
    """What one strategy chose for one method and seed.

    Attributes:
        method, seed, strategy: which cell.
        trial, configuration, hyperparameters, epoch: the chosen snapshot.
        means: its mean accuracy on the report tasks by measure; NaN where it is not known.
        regret: NovelGen on the report tasks of the choice of oracle / oracle, for the same method
            and seed, minus this one's. The oracle too chooses on the selection tasks, so that the
            regret may be slightly negative. NaN if the oracle has nothing to choose by.
        novel_evaluations: snapshots whose novel scores the strategy read: all snapshots of all
            configurations for an oracle snapshot selector (and of their class folds before
            ``cv``, unless aligned); one for each configuration for an oracle hyperparameter
            selector after another snapshot selector; the metered number for one with a budget.
        scores: reads the interval and the accuracy of each report task of a measure, as of
            ``Tasks.of``: most questions need only means.
        base_weight: of BaseGen in the mixture that methods are compared by; None for NovelGen.
        among_all: as of ``TrialHistory``.
    """

    method: str
    seed: int
    strategy: Strategy
    trial: str
    configuration: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    means: Mapping[Measure, float]
    regret: float
    novel_evaluations: int
    scores: Callable[[Measure], Scores] = field(repr=False, compare=False)
    base_weight: float | None = None
    among_all: bool = False

    @property
    def novel(self) -> Interval:
        """Accuracy on the report tasks of the novel classes, with an interval over tasks.

        Without one if only means were recorded. Raises as ``ScoreTable.load``.
        """
        return self.scores("novel")[0]

    @property
    def novel_tasks(self) -> np.ndarray:
        """Accuracy of each report task, float64 ``[T]``; empty if only means were recorded."""
        return self.scores("novel")[1]

    @property
    def base(self) -> Interval:
        """As ``novel``, of the base classes."""
        return self.scores("base")[0]

    @property
    def val(self) -> Interval:
        """As ``novel``, of the validation classes."""
        return self.scores("val")[0]

    @property
    def base_tasks(self) -> np.ndarray:
        """As ``novel_tasks``, of the base classes."""
        return self.scores("base")[1]

    @property
    def reported(self) -> Interval:
        """What methods are compared by: NovelGen, or the mixture; its interval is over tasks."""
        if self.base_weight is None:
            return self.novel
        if len(self.novel_tasks):
            return mixture_interval(self.base_tasks, self.novel_tasks, self.base_weight)
        return mean_alone(self.reported_mean)

    @property
    def reported_mean(self) -> float:
        """The mean of ``reported``."""
        if self.base_weight is None:
            return self.means["novel"]
        return mixed(self.base_weight, self.means["base"], self.means["novel"])


@dataclass(frozen=True)
class FrontPoint:
    """One configuration's selected snapshot, on the front or not.

    Attributes:
        trial, configuration, hyperparameters, epoch: which snapshot.
        kept: whether it is on the front, as chosen on the selection tasks.
        report: mean accuracy on the report tasks by measure, in [0, 1]; NaN if not measured.
    """

    trial: str
    configuration: str
    hyperparameters: Mapping[str, Any]
    epoch: int
    kept: bool
    report: Mapping[Measure, float]


@dataclass(frozen=True)
class Front:
    """What a front selector kept of one method and seed, after a snapshot selector.

    Attributes:
        method, seed: which replicate.
        snapshot, selector: names of the snapshot selector and of the front selector.
        oracle: whether either reads novel scores.
        points: all candidates, in plan order.
    """

    method: str
    seed: int
    snapshot: str
    selector: str
    oracle: bool
    points: tuple[FrontPoint, ...]

    @property
    def kept(self) -> tuple[FrontPoint, ...]:
        """The front itself."""
        return tuple(point for point in self.points if point.kept)


@dataclass(frozen=True)
class LeftOut:
    """Something that takes no part, and why.

    Attributes:
        method, seed: the replicate that it concerns.
        reason: for a person.
        trial, hyperparameters: the unusable trial; None if a selector is at fault.
        snapshot_selector, hyperparameter_selector: the strategies that it concerns; None for all.
        fold: class fold of the unusable trial. It concerns only cross-validated strategies.
        epoch: of a snapshot that was chosen and is not measured on the report tasks.
    """

    method: str
    seed: int
    reason: str
    trial: str | None = None
    hyperparameters: Mapping[str, Any] | None = None
    snapshot_selector: str | None = None
    hyperparameter_selector: str | None = None
    fold: int | None = None
    epoch: int | None = None

    def concerns(self, method: str, strategy: Strategy) -> bool:
        """Whether a cell of (method, strategy) lacks this."""
        return (
            self.method == method
            and self.snapshot_selector in (None, strategy.snapshot)
            and self.hyperparameter_selector in (None, strategy.hyperparameter)
            and (self.fold is None or strategy.cross_validated)
        )


@dataclass(frozen=True)
class Pick:
    """A chosen snapshot before it is measured. Attributes as of ``Selection``."""

    trial: TrialHistory
    epoch: int
    strategy: Strategy
    novel_evaluations: int


@dataclass(frozen=True)
class Picks:
    """What the strategies chose for one method and seed.

    Attributes:
        picks: one for each strategy that could choose.
        oracle: what oracle / oracle chose, which regret is measured against; None if it could not.
    """

    picks: tuple[Pick, ...]
    oracle: Pick | None


@dataclass(frozen=True)
class Selected:
    """All selections, and all that was left out.

    Attributes:
        methods: in plan order, those with nothing to show included.
        strategies: in the order that was asked for.
        selections: by method, seed and strategy, in that order.
        left_out: what takes no part.
        fronts: what front selectors kept, by method, seed and pair of selectors.
        base_weight: of BaseGen in the mixture that methods are compared by; None for NovelGen.
        picks: what the selections are of, by method and seed, measured or not.
    """

    methods: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    selections: tuple[Selection, ...]
    left_out: tuple[LeftOut, ...]
    fronts: tuple[Front, ...] = ()
    base_weight: float | None = None
    picks: tuple[Picks, ...] = field(default=(), repr=False, compare=False)

    @property
    def unmeasured(self) -> tuple[LeftOut, ...]:
        """The chosen snapshots that are not measured on the report tasks, each once."""
        there = {(one.trial, one.epoch): one for one in self.left_out if one.epoch is not None}
        return tuple(there.values())

    def cell(self, method: str, strategy: Strategy) -> tuple[Selection, ...]:
        """The replicates of a cell; none if any planned part of it is left out."""
        if any(one.concerns(method, strategy) for one in self.left_out):
            return ()
        return tuple(self._cells.get((method, strategy), ()))

    @cached_property
    def _cells(self) -> dict[tuple[str, Strategy], list[Selection]]:
        found: dict[tuple[str, Strategy], list[Selection]] = {}
        for one in self.selections:
            found.setdefault((one.method, one.strategy), []).append(one)
        return found


def identical(choices: Sequence[Selection]) -> bool:
    """Whether several replicates have the same report scores, and so are no sample of seeds."""
    first, *others = choices
    return bool(others) and all(
        np.array_equal(score(one), score(first), equal_nan=True)
        for one in others
        for score in _SCORES
    )


_SCORES: tuple[Callable[[Selection], ArrayLike], ...] = (
    lambda one: one.means["novel"],
    lambda one: one.means["base"],
    lambda one: one.means["val"],
    lambda one: one.novel_tasks,
    lambda one: one.base_tasks,
)
"""In this order, so that tasks are seldom read."""


def over_seeds(values: Sequence[float], choices: Sequence[Selection]) -> Interval:
    """The mean of ``values``, one for each of ``choices``, with its interval over seeds.

    NaN, without an interval, unless all are known.
    """
    if not np.isfinite(values).all():
        return mean_alone(float("nan"))
    if identical(choices):
        return mean_of_identical(float(np.mean(values)), len(values))
    return mean_interval(values, kind="seeds")


def why_unusable(trial: TrialHistory) -> str | None:
    """Why a trial takes no part in any selection, or None if it does."""
    if trial.damaged:
        # Only names: the path of a run folder must not change its report.
        names = ", ".join(PurePath(name).name for name in trial.damaged)
        return f"damaged records: {names}"
    if trial.end is None:
        count = len(trial.epochs)
        return f"unfinished: {counted(count, 'snapshot')} recorded" if count else "not run"
    if trial.end.status == "failed":
        return f"failed: {trial.end.reason or 'no reason recorded'}"
    if trial.stopped_early:
        return "stopped by its budget before its first snapshot"
    if len(trial.epochs) == 0:
        return "ended before its first snapshot was measured"
    if trial.unmeasured:
        count = f"{trial.unmeasured} of {counted(len(trial.epochs), 'snapshot')}"
        return f"{count} are not measured under the protocol that chooses"
    return None if trial.complete else f"ended as '{trial.end.status}'"
