"""From recorded trials to selections: every strategy, for each method and seed.

A strategy is a snapshot selector with a hyperparameter selector. Selectors choose on the
*selection* tasks; every number that is reported comes from the *report* tasks. Only whole
replicates take part: a trial that is missing, failed or damaged is named, and what depends on it
is left out. An unfinished trial's early peak can therefore never win. Trials of class folds serve
only cross-validated strategies: where one of them is missing, those are left out and the others
stay. What is reported is always the full trial, at the epoch that the snapshot selector chose.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen, replicates_of
from fsl_sweep.orchestrator.selection.fronts import fronts_of
from fsl_sweep.orchestrator.selection.results import (
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
from fsl_sweep.orchestrator.selectors.apply import apply_counted
from fsl_sweep.orchestrator.selectors.base import is_cross_validated, is_oracle
from fsl_sweep.orchestrator.statistics import Interval, mean_alone, mean_interval
from fsl_sweep.orchestrator.statistics.ties import comparable

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "select", "why_unusable"]

ORACLE = "oracle"
"""The name of either selector of the reference that regret is measured against."""

S = TypeVar("S", SnapshotSelector, HyperparameterSelector)
Named = Sequence[tuple[str, S]]


@dataclass(frozen=True)
class _Pick:
    """A chosen snapshot before it is measured."""

    trial: TrialHistory
    epoch: int
    strategy: Strategy
    novel_evaluations: int


@dataclass(frozen=True)
class _Scores:
    """A snapshot on the report tasks of one measure; no tasks where only the mean is known."""

    interval: Interval
    tasks: np.ndarray


def select(
    histories: Iterable[TrialHistory] | Chosen,
    snapshot: Sequence[str],
    hyperparameter: Sequence[str],
    base_weight: float | None = None,
) -> Selected:
    """Run every pair of selectors on every method and seed.

    Args:
        histories: one for each planned trial, in plan order, recorded or not; or what shares the
            choices of snapshot selectors with others.
        snapshot: names of snapshot selectors, such as ``val`` or ``mixture(0.5)``.
        hyperparameter: names of hyperparameter selectors.
        base_weight: of BaseGen in the mixture to compare methods by; None for NovelGen.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be used.
        SealedMeasurement: a selector read what it did not declare.
    """
    chosen = histories if isinstance(histories, Chosen) else Chosen(histories)
    first = [(name, chosen.selector(name)) for name in snapshot]
    named = [(name, hyperparameter_selector(name)) for name in hyperparameter]
    second = [(name, one) for name, one in named if isinstance(one, HyperparameterSelector)]
    keepers = [(name, one) for name, one in named if isinstance(one, FrontSelector)]
    replicates = replicates_of(chosen.planned)
    cross_validated = any(is_cross_validated(one) for _, one in [*first, *named])
    selections: list[Selection] = []
    fronts: list[Front] = []
    left_out: list[LeftOut] = []
    for trials in replicates.values():
        missing = [gap for trial in trials if (gap := _gap(trial)) is not None]
        read = trials if cross_validated else []
        torn = [gap for trial in read for gap in chosen.folds.gaps(trial)]
        left_out += missing + torn
        if not missing:
            usable = _usable(first, bool(torn)), _usable(second, bool(torn))
            picks, failed = _choose(trials, chosen, *usable)
            measured, unmeasured = _measure(picks, _reference(trials, chosen), base_weight)
            kept, not_kept = fronts_of(trials, chosen, usable[0], keepers)
            left_out += failed + unmeasured + not_kept
            selections += measured
            fronts += kept
    return Selected(
        methods=tuple(dict.fromkeys(method for method, _ in replicates)),
        strategies=tuple(_strategy(one, two) for one in first for two in second),
        selections=tuple(selections),
        left_out=tuple(left_out),
        fronts=tuple(fronts),
        base_weight=base_weight,
    )


def _gap(trial: TrialHistory) -> LeftOut | None:
    reason = why_unusable(trial)
    if reason is None:
        return None
    return LeftOut(trial.method, trial.seed, reason, trial.trial, trial.hyperparameters)


def _usable(selectors: Named[S], torn: bool) -> Named[S]:
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
    first: Named[SnapshotSelector],
    second: Named[HyperparameterSelector],
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
            folds = is_cross_validated(other) and other.asks_folds
            try:
                given = chosen.with_folds(candidates, name) if folds else candidates
                best, spent = apply_counted(other, given)
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            trial = trials[next(i for i, one in enumerate(given) if one is best)]
            if is_oracle(selector):  # it has read all of them before
                of_folds = [fold for one in trials for fold in chosen.folds.of(one) if folds]
                spent = sum(len(one.epochs) for one in [*trials, *of_folds])
            strategy = _strategy((name, selector), (other_name, other))
            picks.append(_Pick(trial, best.epoch, strategy, spent))
    return picks, failed


def _reference(trials: Sequence[TrialHistory], chosen: Chosen) -> float:
    """NovelGen on the report tasks of what oracle / oracle chooses; NaN where it cannot."""
    second = hyperparameter_selector(ORACLE)
    assert isinstance(second, HyperparameterSelector)
    first = [(ORACLE, chosen.selector(ORACLE))]
    picks, _ = _choose(trials, chosen, first, [(ORACLE, second)])
    if not picks:
        return float("nan")
    (pick,) = picks
    return float(pick.trial.scores["novel", "report"].means[pick.trial.index(pick.epoch)])


def _measure(
    picks: Sequence[_Pick], reference: float, base_weight: float | None
) -> tuple[list[Selection], list[LeftOut]]:
    """Selections with their intervals; each snapshot is measured once, whoever chose it."""
    measured: dict[tuple[str, int], dict[Measure, _Scores] | None] = {}
    for key, trial in {pick.trial.trial: pick.trial for pick in picks}.items():
        epochs = sorted({pick.epoch for pick in picks if pick.trial.trial == key})
        measured |= {(key, e): one for e, one in _measured(trial, epochs).items()}
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for pick in picks:
        found, trial, strategy = measured[pick.trial.trial, pick.epoch], pick.trial, pick.strategy
        if found is not None:
            selections.append(_selection(pick, reference, found, base_weight))
            continue
        reason = f"the chosen snapshot (epoch {pick.epoch}) has report scores that are not numbers"
        selectors = strategy.snapshot, strategy.hyperparameter
        left_out.append(
            LeftOut(
                trial.method, trial.seed, reason, trial.trial, trial.hyperparameters, *selectors
            )
        )
    return selections, left_out


def _measured(
    trial: TrialHistory, epochs: Sequence[int]
) -> dict[int, dict[Measure, _Scores] | None]:
    """Snapshots of one trial by epoch; None for one with scores that are not numbers."""
    at = [trial.index(epoch) for epoch in epochs]
    tables = {m: trial.scores[m, "report"] for m in MEASURES}
    rows = {m: table.load()[at] for m, table in tables.items()}

    def scores(measure: Measure, values: np.ndarray) -> _Scores:
        if tables[measure].per_task:
            return _Scores(mean_interval(values), values)
        return _Scores(mean_alone(float(values[0])), values[:0])

    found: dict[int, dict[Measure, _Scores] | None] = {}
    for number, epoch in enumerate(epochs):
        values: dict[Measure, np.ndarray] = {m: rows[m][number] for m in MEASURES}
        known = all(np.isfinite(v).all() for v in values.values())
        found[epoch] = {m: scores(m, v) for m, v in values.items()} if known else None
    return found


def _selection(
    pick: _Pick, reference: float, scores: dict[Measure, _Scores], base_weight: float | None
) -> Selection:
    trial, novel = pick.trial, scores["novel"]
    return Selection(
        method=trial.method,
        seed=trial.seed,
        strategy=pick.strategy,
        trial=trial.trial,
        configuration=trial.configuration,
        hyperparameters=dict(trial.hyperparameters),
        epoch=pick.epoch,
        base=scores["base"].interval,
        val=scores["val"].interval,
        novel=novel.interval,
        regret=_difference(reference, novel.interval.mean),
        novel_evaluations=pick.novel_evaluations,
        novel_tasks=novel.tasks,
        base_tasks=scores["base"].tasks,
        base_weight=base_weight,
    )


def _difference(a: float, b: float) -> float:
    """``a - b``; zero where the two are equal except for the order of summation."""
    return 0.0 if comparable(a) == comparable(b) else a - b
