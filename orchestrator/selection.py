"""From recorded trials to selections: every strategy, for each method and seed.

A strategy is a snapshot selector with a hyperparameter selector. Selectors choose on the
*selection* tasks; every number that is reported comes from the *report* tasks. Only whole
replicates take part: a trial that is missing, failed or damaged is named, and what depends on it
is left out. An unfinished trial's early peak can therefore never win. Trials of class folds serve
cross-validated strategies alone: where one of them is missing, those are left out and the others
stay. What is reported is always the full trial, at the epoch that the snapshot selector chose.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fsl_sweep.orchestrator.chosen import Chosen
from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.fronts import fronts_of
from fsl_sweep.orchestrator.records import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.replicates import replicates_of
from fsl_sweep.orchestrator.selected import (
    Front,
    LeftOut,
    Selected,
    Selection,
    Strategy,
    why_unusable,
)
from fsl_sweep.orchestrator.selectors import (
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.base import apply_counted, is_cross_validated, is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter.oracle import OracleConfiguration
from fsl_sweep.orchestrator.selectors.snapshot.oracle import OracleSnapshot
from fsl_sweep.orchestrator.statistics import Interval, mean_alone, mean_interval
from fsl_sweep.orchestrator.statistics.ties import comparable

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "select", "select_among", "why_unusable"]


S = TypeVar("S", SnapshotSelector, HyperparameterSelector)


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
        histories: one for each planned trial, in plan order, recorded or not.
        snapshot: names of snapshot selectors, such as ``val`` or ``mixture(0.5)``.
        hyperparameter: names of hyperparameter selectors.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be had.
        SealedMeasurement: a selector read what it did not declare.
    """
    return select_among(Chosen(histories), snapshot, hyperparameter)


def select_among(
    chosen: Chosen, snapshot: Sequence[str], hyperparameter: Sequence[str]
) -> Selected:
    """As ``select``, where what snapshot selectors choose is shared with others who ask for it."""
    first = [(name, chosen.selector(name)) for name in snapshot]
    named = [(name, hyperparameter_selector(name)) for name in hyperparameter]
    second = [(name, one) for name, one in named if isinstance(one, HyperparameterSelector)]
    keepers = [(name, one) for name, one in named if isinstance(one, FrontSelector)]
    strategies = tuple(_strategy(one, two) for one in first for two in second)
    replicates = replicates_of(chosen.planned)
    cross_validated = any(is_cross_validated(one) for _, one in [*first, *named])
    selections: list[Selection] = []
    fronts: list[Front] = []
    left_out: list[LeftOut] = []
    for trials in replicates.values():
        missing = [gap for trial in trials if (gap := _gap(trial)) is not None]
        looked_at = trials if cross_validated else []
        torn = [gap for trial in looked_at for gap in chosen.folds.gaps(trial)]
        left_out += missing + torn
        if not missing:
            usable = _usable(first, bool(torn)), _usable(second, bool(torn))
            picks, failed = _choose(trials, chosen, *usable)
            measured, unmeasured = _measure(picks, _reference(trials, chosen))
            kept, not_kept = fronts_of(trials, chosen, usable[0], keepers)
            left_out += failed + unmeasured + not_kept
            selections += measured
            fronts += kept
    methods = tuple(dict.fromkeys(method for method, _ in replicates))
    return Selected(methods, strategies, tuple(selections), tuple(left_out), tuple(fronts))


def _gap(trial: TrialHistory) -> LeftOut | None:
    reason = why_unusable(trial)
    if reason is None:
        return None
    return LeftOut(trial.method, trial.seed, reason, trial.trial, trial.hyperparameters)


def _usable(selectors: Sequence[tuple[str, S]], torn: bool) -> Sequence[tuple[str, S]]:
    """The selectors that can be asked where folds are missing (``torn``) or not."""
    return [(name, one) for name, one in selectors if not torn or not is_cross_validated(one)]


def _strategy(
    first: tuple[str, SnapshotSelector], second: tuple[str, HyperparameterSelector]
) -> Strategy:
    (name, one), (other_name, other) = first, second
    oracle = is_oracle(one) or is_oracle(other)
    return Strategy(name, other_name, oracle, is_cross_validated(one) or is_cross_validated(other))


def _choose(
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Sequence[tuple[str, SnapshotSelector]],
    second: Sequence[tuple[str, HyperparameterSelector]],
) -> tuple[list[_Pick], list[LeftOut]]:
    method, seed = trials[0].method, trials[0].seed
    picks: list[_Pick] = []
    failed: list[LeftOut] = []
    for name, selector in first:
        try:
            candidates = chosen.candidates(trials, name)
        except SelectionError as failure:
            failed.append(LeftOut(method, seed, str(failure), snapshot_selector=name))
            continue
        for other_name, other in second:
            try:
                given = chosen.with_folds(candidates, name) if _asks_folds(other) else candidates
                best, seen = apply_counted(other, given)
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            trial = trials[next(i for i, c in enumerate(given) if c is best)]
            strategy = _strategy((name, selector), (other_name, other))
            spent = _novel_evaluations(selector, other, seen, trials, chosen)
            picks.append(_Pick(trial, best.epoch, strategy, spent))
    return picks, failed


def _novel_evaluations(
    selector: SnapshotSelector,
    other: HyperparameterSelector,
    seen: int,
    trials: Sequence[TrialHistory],
    chosen: Chosen,
) -> int:
    """``seen`` by the hyperparameter selector, unless the other has looked at them all before."""
    if is_oracle(selector):
        folds = [f for t in trials for f in chosen.folds.of(t)] if _asks_folds(other) else []
        return sum(len(trial.epochs) for trial in [*trials, *folds])
    return seen


def _asks_folds(selector: HyperparameterSelector) -> bool:
    return is_cross_validated(selector) and selector.asks_folds


def _reference(trials: Sequence[TrialHistory], chosen: Chosen) -> float:
    """NovelGen on the report tasks of what oracle / oracle chooses; NaN where it cannot."""
    first = [(OracleSnapshot.name, chosen.selector(OracleSnapshot.name))]
    picks, _ = _choose(trials, chosen, first, [("", OracleConfiguration())])
    if not picks:
        return float("nan")
    (pick,) = picks
    return float(pick.trial.scores["novel", "report"].means[pick.trial.index(pick.epoch)])


@dataclass(frozen=True)
class _Measured:
    """A snapshot on the report tasks, by measure; no tasks where the mean alone is known."""

    tasks: Mapping[Measure, np.ndarray]
    intervals: Mapping[Measure, Interval]


def _measure(picks: Sequence[_Pick], reference: float) -> tuple[list[Selection], list[LeftOut]]:
    """Selections with their intervals; each snapshot is measured once, whoever chose it."""
    trials = {pick.trial.trial: pick.trial for pick in picks}
    measured: dict[tuple[str, int], _Measured | None] = {}
    for key, trial in trials.items():
        chosen = sorted({pick.epoch for pick in picks if pick.trial.trial == key})
        measured |= {(key, e): one for e, one in _measured(trial, chosen).items()}
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for pick in picks:
        one = measured[pick.trial.trial, pick.epoch]
        if one is None:
            left_out.append(_unmeasured(pick))
        else:
            selections.append(_selection(pick, reference, one))
    return selections, left_out


def _measured(trial: TrialHistory, epochs: Sequence[int]) -> dict[int, _Measured | None]:
    """Snapshots of one trial by epoch; None for one with scores that are not numbers."""
    at = [trial.index(epoch) for epoch in epochs]
    tables = {m: trial.scores[m, "report"] for m in MEASURES}
    rows = {m: table.rows(at) for m, table in tables.items()}
    found: dict[int, _Measured | None] = {}
    for number, epoch in enumerate(epochs):
        values: dict[Measure, np.ndarray] = {m: rows[m][number] for m in MEASURES}
        if not all(np.isfinite(v).all() for v in values.values()):
            found[epoch] = None
            continue
        known = {m: tables[m].per_task for m in MEASURES}
        intervals: dict[Measure, Interval] = {
            m: mean_interval(v) if known[m] else mean_alone(float(v[0])) for m, v in values.items()
        }
        tasks: dict[Measure, np.ndarray] = {m: v if known[m] else v[:0] for m, v in values.items()}
        found[epoch] = _Measured(tasks, intervals)
    return found


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


def _selection(pick: _Pick, reference: float, measured: _Measured) -> Selection:
    trial, intervals = pick.trial, measured.intervals
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
        regret=_difference(reference, intervals["novel"].mean),
        novel_evaluations=pick.novel_evaluations,
        novel_tasks=measured.tasks["novel"],
        base_tasks=measured.tasks["base"],
    )


def _difference(a: float, b: float) -> float:
    """``a - b``; zero where the two are equal but for the order of summation."""
    return 0.0 if comparable(a) == comparable(b) else a - b
