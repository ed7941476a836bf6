"""From recorded trials to selections: every strategy, for each method and seed.

A strategy is a snapshot selector with a hyperparameter selector. Selectors choose on the
*selection* tasks; every number that is reported comes from the *report* tasks. Only whole
replicates take part: a trial that is missing, failed or damaged is named, and what depends on it
is left out. An unfinished trial's early peak can therefore never win.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.records import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.selectors import (
    HyperparameterSelector,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.statistics import Interval, mean_interval


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


@dataclass(frozen=True)
class _Pick:
    """A chosen snapshot before it is measured."""

    trial: TrialHistory
    epoch: int
    strategy: Strategy
    novel_evaluations: int


def select(
    histories: Iterable[TrialHistory], snapshot: Sequence[str], hyperparameter: Sequence[str]
) -> Selected:
    """Run every pair of selectors on every method and seed.

    Args:
        histories: one for each planned trial, in plan order, recorded or not. Trials of a class
            fold serve cross-validation alone and are passed over.
        snapshot, hyperparameter: names of selectors, such as ``val`` or ``mixture(0.5)``.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be had.
        SealedMeasurement: a selector read what it did not declare.
    """
    first = [(name, snapshot_selector(name)) for name in snapshot]
    second = [(name, hyperparameter_selector(name)) for name in hyperparameter]
    strategies = tuple(
        Strategy(s, h, is_oracle(one) or is_oracle(two)) for s, one in first for h, two in second
    )
    replicates = _replicates(histories)
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for trials in replicates.values():
        missing = [gap for trial in trials if (gap := _gap(trial)) is not None]
        left_out += missing
        if not missing:
            picks, failed = _choose(trials, first, second)
            left_out += failed
            selections += _measure(picks, _reference(trials))
    methods = tuple(dict.fromkeys(method for method, _ in replicates))
    return Selected(methods, strategies, tuple(selections), tuple(left_out))


def why_unusable(trial: TrialHistory) -> str | None:
    """Why a trial takes no part in any selection, or None if it does."""
    if trial.damaged:
        # Names alone: the place of a run folder must not change its report.
        names = ", ".join(PurePath(name).name for name in trial.damaged)
        return f"damaged records: {names}"
    if trial.end is None:
        count = len(trial.epochs)
        return f"unfinished: {count} snapshots recorded" if count else "not run"
    if not trial.complete:
        return f"failed: {trial.end.reason or 'no reason recorded'}"
    if len(trial.epochs) == 0:
        return "ended before its first snapshot was measured"
    return None


def _replicates(histories: Iterable[TrialHistory]) -> dict[tuple[str, int], list[TrialHistory]]:
    groups: dict[tuple[str, int], list[TrialHistory]] = defaultdict(list)
    for trial in histories:
        if trial.fold is None:
            groups[trial.method, trial.seed].append(trial)
    order = list(dict.fromkeys(method for method, _ in groups))
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def _gap(trial: TrialHistory) -> LeftOut | None:
    reason = why_unusable(trial)
    if reason is None:
        return None
    return LeftOut(trial.method, trial.seed, reason, trial.trial, trial.hyperparameters)


def _choose(
    trials: Sequence[TrialHistory],
    first: Sequence[tuple[str, SnapshotSelector]],
    second: Sequence[tuple[str, HyperparameterSelector]],
) -> tuple[list[_Pick], list[LeftOut]]:
    method, seed = trials[0].method, trials[0].seed
    histories = [History.from_trial(trial) for trial in trials]
    picks: list[_Pick] = []
    failed: list[LeftOut] = []
    for name, selector in first:
        try:
            candidates = _candidates(trials, histories, selector)
        except SelectionError as failure:
            failed.append(LeftOut(method, seed, str(failure), snapshot_selector=name))
            continue
        for other_name, other in second:
            try:
                chosen = apply(other, candidates)
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            trial = trials[next(i for i, c in enumerate(candidates) if c is chosen)]
            strategy = Strategy(name, other_name, is_oracle(selector) or is_oracle(other))
            spent = _novel_evaluations(selector, other, trials)
            picks.append(_Pick(trial, chosen.epoch, strategy, spent))
    return picks, failed


def _candidates(
    trials: Sequence[TrialHistory], histories: Sequence[History], selector: SnapshotSelector
) -> list[Candidate]:
    return [
        Candidate(trial.trial, trial.hyperparameters, apply(selector, history), history)
        for trial, history in zip(trials, histories, strict=True)
    ]


def _novel_evaluations(
    selector: SnapshotSelector, other: HyperparameterSelector, trials: Sequence[TrialHistory]
) -> int:
    if is_oracle(selector):
        return sum(len(trial.epochs) for trial in trials)
    return len(trials) if is_oracle(other) else 0


def _reference(trials: Sequence[TrialHistory]) -> float:
    """NovelGen on the report tasks of what oracle / oracle chooses; NaN where it cannot."""
    oracle = [("oracle", snapshot_selector("oracle"))]
    picks, _ = _choose(trials, oracle, [("oracle", hyperparameter_selector("oracle"))])
    if not picks:
        return float("nan")
    (pick,) = picks
    return float(pick.trial.scores["novel", "report"].means[pick.trial.index(pick.epoch)])


def _measure(picks: Sequence[_Pick], reference: float) -> list[Selection]:
    """Selections with their intervals; each trial's tasks are read once, whoever chose it."""
    trials = {pick.trial.trial: pick.trial for pick in picks}
    tasks: dict[tuple[str, int, Measure], np.ndarray] = {}
    for key, trial in trials.items():
        chosen = sorted({pick.epoch for pick in picks if pick.trial.trial == key})
        for measure in MEASURES:
            table = trial.scores[measure, "report"].load()
            tasks |= {(key, e, measure): table[trial.index(e)].copy() for e in chosen}
    return [_selection(pick, reference, tasks) for pick in picks]


def _selection(
    pick: _Pick, reference: float, tasks: Mapping[tuple[str, int, Measure], np.ndarray]
) -> Selection:
    trial = pick.trial
    intervals = {m: mean_interval(tasks[trial.trial, pick.epoch, m]) for m in MEASURES}
    return Selection(
        method=trial.method,
        seed=trial.seed,
        strategy=pick.strategy,
        trial=trial.trial,
        configuration=trial.configuration,
        hyperparameters=dict(trial.hyperparameters),
        epoch=pick.epoch,
        base=intervals["base"],
        val=intervals["val"],
        novel=intervals["novel"],
        regret=reference - intervals["novel"].mean,
        novel_evaluations=pick.novel_evaluations,
        novel_tasks=tasks[trial.trial, pick.epoch, "novel"],
    )
