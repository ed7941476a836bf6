"""From recorded trials to selections: every strategy, for each method and seed.

A strategy is a snapshot selector with a hyperparameter selector. Selectors choose on the
*selection* tasks; every number that is reported comes from the *report* tasks. Only whole
replicates take part: a trial that is missing, failed or damaged is named, and what depends on it
is left out. An unfinished trial's early peak can therefore never win.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.records import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.selected import LeftOut, Selected, Selection, Strategy
from fsl_sweep.orchestrator.selectors import (
    HyperparameterSelector,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter.oracle import OracleConfiguration
from fsl_sweep.orchestrator.selectors.snapshot.oracle import OracleSnapshot
from fsl_sweep.orchestrator.statistics import mean_interval

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "select", "why_unusable"]


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
        snapshot: names of snapshot selectors, such as ``val`` or ``mixture(0.5)``.
        hyperparameter: names of hyperparameter selectors.

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
            measured, unmeasured = _measure(picks, _reference(trials))
            left_out += failed + unmeasured
            selections += measured
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
    if trial.end.status == "failed":
        return f"failed: {trial.end.reason or 'no reason recorded'}"
    if len(trial.epochs) == 0:
        return "ended before its first snapshot was measured"
    return None if trial.complete else f"ended as '{trial.end.status}'"


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
    picks, _ = _choose(trials, [("", OracleSnapshot())], [("", OracleConfiguration())])
    if not picks:
        return float("nan")
    (pick,) = picks
    return float(pick.trial.scores["novel", "report"].means[pick.trial.index(pick.epoch)])


def _measure(picks: Sequence[_Pick], reference: float) -> tuple[list[Selection], list[LeftOut]]:
    """Selections with their intervals; each trial's tasks are read once, whoever chose it."""
    trials = {pick.trial.trial: pick.trial for pick in picks}
    tasks: dict[tuple[str, int, Measure], np.ndarray] = {}
    for key, trial in trials.items():
        chosen = sorted({pick.epoch for pick in picks if pick.trial.trial == key})
        for measure in MEASURES:
            table = trial.scores[measure, "report"].load()
            tasks |= {(key, e, measure): table[trial.index(e)].copy() for e in chosen}
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for pick in picks:
        if all(np.isfinite(tasks[pick.trial.trial, pick.epoch, m]).all() for m in MEASURES):
            selections.append(_selection(pick, reference, tasks))
        else:
            left_out.append(_unmeasured(pick))
    return selections, left_out


def _unmeasured(pick: _Pick) -> LeftOut:
    trial, strategy = pick.trial, pick.strategy
    reason = f"the chosen snapshot (epoch {pick.epoch}) has report scores that are not numbers"
    return LeftOut(
        trial.method,
        trial.seed,
        reason,
        trial.trial,
        trial.hyperparameters,
        strategy.snapshot,
        strategy.hyperparameter,
    )


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
