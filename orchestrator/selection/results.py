"""Selections by method, seed and strategy, and what was left out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics import (
    Interval,
    mean_alone,
    mean_interval,
    mean_of_identical,
    mixture_interval,
)


@dataclass(frozen=True)
class Strategy:
    """A snapshot selector with a hyperparameter selector, as a sweep file names them.

    Attributes:
        snapshot, hyperparameter: names of the selectors.
        oracle: whether either reads novel scores.
        cross_validated: whether either reads what class folds measured.
        among_finalists: whether it chose among the configurations that early stopping by another
            measure had left, so that it is not what that strategy would have done by itself.
    """

    snapshot: str
    hyperparameter: str
    oracle: bool
    cross_validated: bool = False
    among_finalists: bool = False

    @property
    def usual(self) -> bool:
        """Return whether to compare it with others: no oracle, and not among finalists only."""
        return not self.oracle and not self.among_finalists

    def __str__(self) -> str:
        return f"{self.snapshot} / {self.hyperparameter}"


TELLING = 12
"""Of so many numbers that are all equal, two trials without tasks are taken for copies."""

Scores = tuple[Interval, np.ndarray]
"""A mean over report tasks with its interval, and the accuracy on each; none if not known."""


def _not_measured(measure: Measure) -> Scores:
    raise LookupError(f"The choice is not measured on the report tasks: {measure}.")


@dataclass(frozen=True)
class Selection:
    """What one strategy chose for one method and seed.

    Attributes:
        snapshot: the chosen snapshot; trial, method, seed and epoch are asked of it.
        strategy: which strategy.
        novel_evaluations: snapshots whose novel scores the strategy read: all snapshots of all
            configurations for an oracle snapshot selector (and of their class folds before
            ``cv``, unless aligned); one for each configuration for an oracle hyperparameter
            selector after another snapshot selector; the metered number for one with a budget.
        means: its mean accuracy on the report tasks by measure; NaN where it is not known, and
            none of a choice that is not measured.
        regret: NovelGen on the report tasks of the choice of oracle / oracle, for the same method
            and seed, minus this one's. The oracle too chooses on the selection tasks, so that the
            regret may be slightly negative. NaN if the oracle has nothing to choose by.
        scores: reads the interval and the accuracy of each report task of a measure; may raise as
            ``ScoreTable.load``. Most questions need only means.
        base_weight: of BaseGen in the mixture that methods are compared by; None for NovelGen.
        by_score: whether a score had a part in it; not if there was one snapshot to choose, or the
            selectors read no score.
    """

    snapshot: Snapshot
    strategy: Strategy
    novel_evaluations: int
    means: Mapping[Measure, float] = field(default_factory=dict)
    regret: float = float("nan")
    scores: Callable[[Measure], Scores] = field(default=_not_measured, repr=False, compare=False)
    base_weight: float | None = None
    by_score: bool = True

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
class Front:
    """What a front selector kept of one method and seed, after a snapshot selector.

    Attributes:
        method, seed: which replicate.
        snapshot, selector: names of the snapshot selector and of the front selector.
        oracle: whether either reads novel scores.
        points: all candidates, in plan order.
        kept: those of them on the front, chosen on the selection tasks.
    """

    method: str
    seed: int
    snapshot: str
    selector: str
    oracle: bool
    points: tuple[Snapshot, ...]
    kept: tuple[Snapshot, ...]


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
    def of(
        cls,
        trial: TrialHistory,
        reason: str,
        strategy: Strategy | None = None,
        epoch: int | None = None,
    ) -> "LeftOut":
        """Name an unusable trial; or what a strategy chose of it."""
        names = (None, None) if strategy is None else (strategy.snapshot, strategy.hyperparameter)
        of_trial = trial.method, trial.seed, reason, trial.trial, trial.hyperparameters
        return cls(*of_trial, *names, trial.fold, epoch)

    def concerns(self, method: str, strategy: Strategy) -> bool:
        """Return whether a cell of (method, strategy) lacks this."""
        return (
            self.method == method
            and self.snapshot_selector in (None, strategy.snapshot)
            and self.hyperparameter_selector in (None, strategy.hyperparameter)
            and (self.fold is None or strategy.cross_validated)
        )


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
        picks: what the strategies chose, measured or not; the selections without report scores.
        oracles: by method and seed, what oracle / oracle chose, which regret is measured against;
            None if it could not.
        diverged: by method and strategy, the seeds in which every configuration diverged, so that
            the strategy had no candidate: its cell is of the other seeds.
    """

    methods: tuple[str, ...]
    strategies: tuple[Strategy, ...]
    selections: tuple[Selection, ...]
    left_out: tuple[LeftOut, ...]
    fronts: tuple[Front, ...] = ()
    base_weight: float | None = None
    picks: tuple[Selection, ...] = field(default=(), repr=False, compare=False)
    oracles: Mapping[tuple[str, int], Snapshot | None] = field(
        default_factory=dict, repr=False, compare=False
    )

    diverged: Mapping[tuple[str, Strategy], tuple[int, ...]] = field(default_factory=dict)

    @property
    def unmeasured(self) -> tuple[LeftOut, ...]:
        """Return the chosen snapshots that are not measured on the report tasks, each once."""
        missing = {(gap.trial, gap.epoch): gap for gap in self.left_out if gap.epoch is not None}
        return tuple(missing.values())

    @property
    def trials(self) -> set[str]:
        """Return the ids of the trials of which some snapshot was chosen, measured or not."""
        return {pick.trial for pick in self.picks}

    def cell(self, method: str, strategy: Strategy) -> tuple[Selection, ...]:
        """Return the replicates of a cell; none if any planned part of it is left out.

        Seeds that are equal on every task count once: copies say nothing new. Where all are equal
        they stay, and are told to be, unless the method draws nothing.
        """
        if any(gap.concerns(method, strategy) for gap in self.left_out):
            return ()
        return self._cells.get((method, strategy), ())

    def copies(self, method: str, strategy: Strategy) -> dict[int, int]:
        """Return the seeds of a cell that do not count, with the seed that each is equal to."""
        counted = {choice.seed for choice in self.cell(method, strategy)}
        every = self._every.get((method, strategy), []) if counted else []
        kept = [choice for choice in every if choice.seed in counted]
        return {
            choice.seed: next(first.seed for first in kept if _alike(first, choice))
            for choice in every
            if choice.seed not in counted
        }

    @cached_property
    def _cells(self) -> dict[tuple[str, Strategy], tuple[Selection, ...]]:
        return {key: _that_count(choices) for key, choices in self._every.items()}

    @cached_property
    def _every(self) -> dict[tuple[str, Strategy], list[Selection]]:
        """Return the choices by method and strategy, copies included."""
        every: dict[tuple[str, Strategy], list[Selection]] = {}
        for selection in self.selections:
            every.setdefault((selection.method, selection.strategy), []).append(selection)
        return every


def _that_count(choices: Sequence[Selection]) -> tuple[Selection, ...]:
    """Return the choices without copies of an earlier one: all of them if nothing else is left."""
    alike: dict[str, list[Selection]] = {}
    kept: list[Selection] = []
    for choice in choices:
        earlier = alike.setdefault(repr([choice.means[measure] for measure in MEASURES]), [])
        if not any(_alike(first, choice) and _tells(first, choice) for first in earlier):
            earlier.append(choice)
            kept.append(choice)
    alone = len(kept) == 1 and not kept[0].snapshot.history.draws_nothing
    return tuple(choices if alone else kept)


def _tells(a: Selection, b: Selection) -> bool:
    """Return whether equal scores tell a copy: of many tasks, or else the records of whole trials.

    One number, or a few that were rounded, may be equal by chance.
    """
    if len(a.novel_tasks) > 1:
        return True
    numbers = [
        np.concatenate([*trial.curves.values(), *(t.means for t in trial.scores.values())])
        for trial in (a.snapshot.history, b.snapshot.history)
    ]
    known = np.isfinite(numbers[0]).sum()
    return bool(known >= TELLING and np.array_equal(*numbers, equal_nan=True))


def identical(choices: Sequence[Selection]) -> bool:
    """Return whether several replicates have the same report scores, and so sample no seeds."""
    first, *others = choices
    return bool(others) and all(_alike(first, other) for other in others)


def _alike(a: Selection, b: Selection) -> bool:
    """Return whether two have the same report scores; their tasks are read only if need be."""
    pairs = chain(
        ((a.means[measure], b.means[measure]) for measure in MEASURES),
        ((a.scores(measure)[1], b.scores(measure)[1]) for measure in ("novel", "base")),
    )
    return all(np.array_equal(*pair, equal_nan=True) for pair in pairs)


def over_seeds(values: Sequence[float], choices: Sequence[Selection]) -> Interval:
    """Return the mean of ``values``, one for each of ``choices``, with its interval over seeds.

    NaN, without an interval, unless all are known.
    """
    if not np.isfinite(values).all():
        return mean_alone(float("nan"))
    if identical(choices):
        return mean_of_identical(float(np.mean(values)), len(values))
    return mean_interval(values, kind="seeds")
