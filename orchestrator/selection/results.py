"""Selections by method, seed and strategy, and what was left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, ScoreTable, TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
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
        """Return the scores of the snapshot at a position. Raises as ``ScoreTable.load``."""
        if measure not in self._read:
            table = self._tables[measure]
            self._read[measure] = {
                at: (replace(mean_interval(tasks), mean=float(table.means[at])), tasks)
                if table.per_task
                else (mean_alone(float(tasks[0])), tasks[:0])
                for at, tasks in zip(self._rows, table.load()[self._rows], strict=True)
            }
        return self._read[measure][row]


class ReportScores(NamedTuple):
    """A snapshot on the report tasks. Attributes as of ``Selection``."""

    means: Mapping[Measure, float]
    scores: Callable[[Measure], Scores]


@dataclass(frozen=True)
class Pick:
    """A snapshot that a strategy chose, before it is measured. Attributes as of ``Selection``."""

    snapshot: Snapshot
    strategy: Strategy
    novel_evaluations: int


@dataclass(frozen=True)
class Selection:
    """What one strategy chose for one method and seed.

    Attributes:
        snapshot: the chosen snapshot; trial, method, seed and epoch are asked of it.
        strategy: which strategy.
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
    """

    snapshot: Snapshot
    strategy: Strategy
    means: Mapping[Measure, float]
    regret: float
    novel_evaluations: int
    scores: Callable[[Measure], Scores] = field(repr=False, compare=False)
    base_weight: float | None = None

    @property
    def method(self) -> str:
        """Return the method of the snapshot."""
        return self.snapshot.method

    @property
    def seed(self) -> int:
        """Return the seed of the snapshot."""
        return self.snapshot.seed

    @property
    def trial(self) -> str:
        """Return the id of the snapshot's trial."""
        return self.snapshot.trial

    @property
    def epoch(self) -> int:
        """Return the epoch of the snapshot."""
        return self.snapshot.epoch

    @property
    def hyperparameters(self) -> Mapping[str, Any]:
        """Return the hyperparameters of the snapshot."""
        return self.snapshot.hyperparameters

    @property
    def novel(self) -> Interval:
        """Return the accuracy on the report tasks of the novel classes, with 95 % over tasks.

        Without an interval if only means were recorded. Raises as ``ScoreTable.load``.
        """
        return self.scores("novel")[0]

    @property
    def novel_tasks(self) -> np.ndarray:
        """Return the accuracy of each report task, float64 ``[T]``; empty if not recorded."""
        return self.scores("novel")[1]

    @property
    def base(self) -> Interval:
        """Return the same as ``novel``, of the base classes."""
        return self.scores("base")[0]

    @property
    def val(self) -> Interval:
        """Return the same as ``novel``, of the validation classes."""
        return self.scores("val")[0]

    @property
    def base_tasks(self) -> np.ndarray:
        """Return the same as ``novel_tasks``, of the base classes."""
        return self.scores("base")[1]

    @property
    def reported(self) -> Interval:
        """Return what methods are compared by: NovelGen or the mixture, with 95 % over tasks."""
        if self.base_weight is None:
            return self.novel
        if len(self.novel_tasks):
            return mixture_interval(self.base_tasks, self.novel_tasks, self.base_weight)
        return mean_alone(self.reported_mean)

    @property
    def reported_mean(self) -> float:
        """Return the mean of ``reported``."""
        if self.base_weight is None:
            return self.means["novel"]
        return mixed(self.base_weight, self.means["base"], self.means["novel"])


@dataclass(frozen=True)
class FrontPoint:
    """The selected snapshot of a configuration, and whether it was kept on the front."""

    snapshot: Snapshot
    kept: bool

    @property
    def report(self) -> Mapping[Measure, float]:
        """Return its mean accuracy on the report tasks by measure; NaN if not measured."""
        return {measure: self.snapshot.mean(measure) for measure in MEASURES}


@dataclass(frozen=True)
class Front:
    """What a front selector kept of one method and seed, after a snapshot selector.

    Attributes:
        method, seed: which replicate.
        snapshot, selector: names of the snapshot selector and of the front selector.
        oracle: whether either reads novel scores.
        points: all candidates, in plan order. Those on the front were chosen on the selection
            tasks.
    """

    method: str
    seed: int
    snapshot: str
    selector: str
    oracle: bool
    points: tuple[FrontPoint, ...]

    @property
    def kept(self) -> tuple[Snapshot, ...]:
        """Return the front itself."""
        return tuple(point.snapshot for point in self.points if point.kept)


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

    @classmethod
    def of(cls, trial: TrialHistory, reason: str) -> "LeftOut":
        """Return name an unusable trial."""
        fold = trial.fold
        return cls(trial.method, trial.seed, reason, trial.trial, trial.hyperparameters, fold=fold)

    def concerns(self, method: str, strategy: Strategy) -> bool:
        """Return whether a cell of (method, strategy) lacks this."""
        return (
            self.method == method
            and self.snapshot_selector in (None, strategy.snapshot)
            and self.hyperparameter_selector in (None, strategy.hyperparameter)
            and (self.fold is None or strategy.cross_validated)
        )


class Picks(NamedTuple):
    """What the strategies chose for one method and seed.

    Attributes:
        picks: one for each strategy that could choose.
        oracle: what oracle / oracle chose, which regret is measured against; None if it could not.
    """

    picks: tuple[Pick, ...]
    oracle: Snapshot | None


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
        """Return the chosen snapshots that are not measured on the report tasks, each once."""
        missing = {(gap.trial, gap.epoch): gap for gap in self.left_out if gap.epoch is not None}
        return tuple(missing.values())

    @property
    def trials(self) -> set[str]:
        """Return the ids of the trials of which some snapshot was chosen, measured or not."""
        return {pick.snapshot.trial for replicate in self.picks for pick in replicate.picks}

    def cell(self, method: str, strategy: Strategy) -> tuple[Selection, ...]:
        """Return the replicates of a cell; none if any planned part of it is left out."""
        if any(gap.concerns(method, strategy) for gap in self.left_out):
            return ()
        return tuple(self._cells.get((method, strategy), ()))

    @cached_property
    def _cells(self) -> dict[tuple[str, Strategy], list[Selection]]:
        cells: dict[tuple[str, Strategy], list[Selection]] = {}
        for selection in self.selections:
            cells.setdefault((selection.method, selection.strategy), []).append(selection)
        return cells


def identical(choices: Sequence[Selection]) -> bool:
    """Return whether several replicates have the same report scores, and so sample no seeds."""
    first, *others = choices
    return bool(others) and all(
        np.array_equal(score(choice), score(first), equal_nan=True)
        for choice in others
        for score in _SCORES
    )


_SCORES: tuple[Callable[[Selection], ArrayLike], ...] = (
    lambda choice: choice.means["novel"],
    lambda choice: choice.means["base"],
    lambda choice: choice.means["val"],
    lambda choice: choice.novel_tasks,
    lambda choice: choice.base_tasks,
)
"""In this order, so that tasks are seldom read."""


def over_seeds(values: Sequence[float], choices: Sequence[Selection]) -> Interval:
    """Return the mean of ``values``, one for each of ``choices``, with its interval over seeds.

    NaN, without an interval, unless all are known.
    """
    if not np.isfinite(values).all():
        return mean_alone(float("nan"))
    if identical(choices):
        return mean_of_identical(float(np.mean(values)), len(values))
    return mean_interval(values, kind="seeds")


def why_unusable(trial: TrialHistory) -> str | None:
    """Return why a trial takes no part in any selection, or None if it does."""
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
