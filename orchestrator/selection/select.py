"""From recorded trials to selections: every strategy, for each method and seed.

Selectors choose on the *selection* tasks; reported numbers come from the *report* tasks. Only whole
replicates take part, so that an unfinished trial's early peak never wins: what depends on a
missing, failed or damaged trial is left out. A missing class fold leaves out only cross-validated
strategies. What is reported is the full trial, at the epoch that the snapshot selector chose.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, ScoreTable, TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.replay.lacking import unknown
from fsl_sweep.orchestrator.selection.budget_curve import read_once
from fsl_sweep.orchestrator.selection.choices import Chosen, recorded, replicates_of, seen
from fsl_sweep.orchestrator.selection.results import (
    Front,
    FrontPoint,
    LeftOut,
    Pick,
    Picks,
    ReportScores,
    Selected,
    Selection,
    Strategy,
    Tasks,
    why_unusable,
)
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply_at_once, apply_counted
from fsl_sweep.orchestrator.selectors.base import NONE, is_cross_validated, is_oracle
from fsl_sweep.orchestrator.statistics.ties import comparable

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "measured", "select", "why_unusable"]

ORACLE = "oracle"
"""The name of both selectors of the reference that regret is measured against."""

S = TypeVar("S", SnapshotSelector, HyperparameterSelector, FrontSelector)
Named = Sequence[tuple[str, S]]
"""Selectors with the names that they were asked for by."""

Reported = Mapping[tuple[str, str], TrialHistory]
"""Trials by method and id: two methods may share a trial."""


def select(
    histories: Iterable[TrialHistory] | Chosen,
    snapshot: Sequence[str],
    hyperparameter: Sequence[str],
    base_weight: float | None = None,
) -> Selected:
    """Run every pair of selectors on every method and seed.

    Args:
        histories: one for each planned trial, in plan order, recorded or not; or a shared
            ``Chosen`` of them.
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
    second = [(name, s) for name, s in named if isinstance(s, HyperparameterSelector)]
    keepers = [(name, s) for name, s in named if isinstance(s, FrontSelector)]
    read_folds = any(is_cross_validated(selector) for _, selector in [*first, *named])
    replicates = replicates_of(chosen.planned)
    picks: list[Picks] = []
    fronts: list[Front] = []
    left_out: list[LeftOut] = []
    for trials in replicates.values():
        gaps = [LeftOut.of(trial, why) for trial in trials if (why := why_unusable(trial))]
        fold_gaps = [gap for trial in trials if read_folds for gap in chosen.folds.gaps(trial)]
        left_out += gaps + fold_gaps
        if not gaps:
            usable = _usable(first, bool(fold_gaps)), _usable(second, bool(fold_gaps))
            choices, failed = _choose(trials, chosen, *usable)
            kept, not_kept = _fronts(trials, chosen, usable[0], keepers)
            picks.append(Picks(tuple(choices), _oracle(trials, chosen)))
            fronts += kept
            left_out += failed + not_kept
    selected = Selected(
        methods=tuple(dict.fromkeys(method for method, _ in replicates)),
        strategies=tuple(_strategy(s, t) for s in first for t in second),
        selections=(),
        left_out=tuple(left_out),
        base_weight=base_weight,
        picks=tuple(picks),
    )
    return replace(measured(selected, chosen.planned), fronts=tuple(fronts))


def measured(selected: Selected, histories: Iterable[TrialHistory]) -> Selected:
    """Return the same choices with the report scores of ``histories``; fronts are left out.

    A chosen snapshot of a trial that is not among them counts as not measured.
    """
    reported = {(trial.method, trial.trial): trial for trial in histories}
    parts = [_measure(choices, reported, selected.base_weight) for choices in selected.picks]
    others = [gap for gap in selected.left_out if gap.epoch is None]
    return replace(
        selected,
        selections=tuple(choice for selections, _ in parts for choice in selections),
        left_out=(*others, *(gap for _, left_out in parts for gap in left_out)),
        fronts=(),
    )


def _usable(selectors: Named[S], lacks_folds: bool) -> Named[S]:
    """Return the selectors that can be asked if folds are missing or not."""
    return [(name, s) for name, s in selectors if not lacks_folds or not is_cross_validated(s)]


def _strategy(
    first: tuple[str, SnapshotSelector], second: tuple[str, HyperparameterSelector]
) -> Strategy:
    (name, snapshot), (other_name, hyperparameter) = first, second
    oracle = is_oracle(snapshot) or is_oracle(hyperparameter)
    crossed = is_cross_validated(snapshot) or is_cross_validated(hyperparameter)
    return Strategy(name, other_name, oracle, crossed)


def _choose(
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Named[SnapshotSelector],
    second: Named[HyperparameterSelector],
) -> tuple[list[Pick], list[LeftOut]]:
    method, seed = trials[0].method, trials[0].seed
    picks: list[Pick] = []
    failed: list[LeftOut] = []
    for name, selector in first:
        try:
            left = [(trial, trial.index(chosen.epoch(trial, name))) for trial in trials]
        except SelectionError as failure:
            failed.append(LeftOut(method, seed, str(failure), snapshot_selector=name))
            continue
        for other_name, other in second:
            try:
                if other.every_snapshot:
                    snapshot, spent = _of_all(trials, other)
                else:
                    snapshot, spent = _of_configurations(left, other, chosen, name)
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            if is_oracle(selector) and not other.every_snapshot:  # it has read all of them before
                folds = is_cross_validated(other) and other.asks_folds
                of_folds = [fold for trial in trials for fold in chosen.folds.of(trial) if folds]
                spent = sum(len(trial.epochs) for trial in [*trials, *of_folds])
            strategy = _strategy((name, selector), (other_name, other))
            picks.append(Pick(snapshot, strategy, spent))
    return picks, failed


def _of_configurations(
    left: Sequence[tuple[TrialHistory, int]],
    selector: HyperparameterSelector,
    chosen: Chosen,
    snapshot: str,
) -> tuple[Snapshot, int]:
    """Return what is chosen, and how many novel scores are read.

    Each of ``left`` is a trial with the position of what ``snapshot`` chose in it.
    """
    at_once = None
    if all(recorded(trial, selector.needs) for trial, _ in left):
        at_once = apply_at_once(selector, lambda m: np.array([[seen(t, m)[i] for t, i in left]]))
    if at_once is not None and at_once[0] != NONE:
        trial, row = left[int(at_once[0])]
        spent = len(left) if is_oracle(selector) else 0
        return Snapshot(trial, int(trial.epochs[row])), spent
    candidates = chosen.candidates([trial for trial, _ in left], snapshot)
    if is_cross_validated(selector) and selector.asks_folds:
        candidates = chosen.with_folds(candidates, snapshot)
    best, spent = apply_counted(selector, candidates)
    trial, row = next(
        place for place, candidate in zip(left, candidates, strict=True) if candidate is best
    )
    return Snapshot(trial, int(trial.epochs[row])), spent


def _of_all(
    trials: Sequence[TrialHistory], selector: HyperparameterSelector
) -> tuple[Snapshot, int]:
    """Return what is chosen among all snapshots, and how many novel scores are read."""
    whole = Chosen(map(read_once, trials))
    candidates = [
        Candidate(trial.trial, trial.hyperparameters, int(epoch), whole.history(trial))
        for trial in whole.planned
        for epoch in trial.epochs
    ]
    best, spent = apply_counted(selector, candidates)
    trial = next(trial for trial in trials if trial.trial == best.trial)
    return Snapshot(trial, best.epoch), spent


def _oracle(trials: Sequence[TrialHistory], chosen: Chosen) -> Snapshot | None:
    """Return what oracle / oracle chooses; None if it cannot."""
    second = hyperparameter_selector(ORACLE)
    assert isinstance(second, HyperparameterSelector)
    first = [(ORACLE, chosen.selector(ORACLE))]
    picks, _ = _choose(trials, chosen, first, [(ORACLE, second)])
    return picks[0].snapshot if picks else None


def _fronts(
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Named[SnapshotSelector],
    second: Named[FrontSelector],
) -> tuple[list[Front], list[LeftOut]]:
    """Return the fronts of one replicate, and what could not be made."""
    method, seed = trials[0].method, trials[0].seed
    fronts: list[Front] = []
    failed: list[LeftOut] = []
    for name, selector in first:
        for other_name, other in second:
            try:
                candidates = chosen.candidates(trials, name)
                kept = {id(candidate) for candidate in apply(other, candidates)}
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            points = tuple(
                FrontPoint(Snapshot(trial, candidate.epoch), id(candidate) in kept)
                for trial, candidate in zip(trials, candidates, strict=True)
            )
            oracle = is_oracle(selector) or is_oracle(other)
            fronts.append(Front(method, seed, name, other_name, oracle, points))
    return fronts, failed


def _measure(
    choices: Picks, reported: Reported, base_weight: float | None
) -> tuple[list[Selection], list[LeftOut]]:
    """Return the selections; each snapshot is read once, whoever chose it."""
    epochs: dict[tuple[str, str], set[int]] = {}
    for pick in choices.picks:
        epochs.setdefault(_key(pick.snapshot), set()).add(pick.snapshot.epoch)
    scores = {key: _measured(reported[key], at) for key, at in epochs.items() if key in reported}
    reference = _reference(choices.oracle, reported)
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for pick in choices.picks:
        snapshot = pick.snapshot
        if known := scores.get(_key(snapshot), {}).get(snapshot.epoch):
            selections.append(
                Selection(
                    snapshot=Snapshot(reported[_key(snapshot)], snapshot.epoch),
                    strategy=pick.strategy,
                    means=known.means,
                    regret=_regret(reference, known.means["novel"]),
                    novel_evaluations=pick.novel_evaluations,
                    scores=known.scores,
                    base_weight=base_weight,
                )
            )
            continue
        reason = f"the chosen snapshot (epoch {snapshot.epoch}) is not measured on the report tasks"
        left_out.append(
            replace(
                LeftOut.of(snapshot.history, reason),
                snapshot_selector=pick.strategy.snapshot,
                hyperparameter_selector=pick.strategy.hyperparameter,
                epoch=snapshot.epoch,
            )
        )
    return selections, left_out


def _key(snapshot: Snapshot) -> tuple[str, str]:
    return snapshot.method, snapshot.trial


def _reference(oracle: Snapshot | None, reported: Reported) -> float:
    """Return NovelGen on the report tasks of what oracle / oracle chose; NaN if not known."""
    if oracle is None or _key(oracle) not in reported:
        return float("nan")
    return Snapshot(reported[_key(oracle)], oracle.epoch).mean("novel")


def _regret(reference: float, novel: float) -> float:
    # Zero if the two are equal except for the order of summation.
    same = comparable(reference) == comparable(novel)
    return 0.0 if same else reference - novel


def _measured(trial: TrialHistory, epochs: Collection[int]) -> dict[int, ReportScores]:
    """Return snapshots of one trial by epoch, without those whose scores are not all numbers.

    A measure that the trial does not hold (`unknown`) stays NaN.
    """
    tables: dict[Measure, ScoreTable] = {m: trial.scores[m, "report"] for m in MEASURES}
    held = [np.isfinite(table.means) for table in tables.values() if not unknown(table)]
    if not held:
        return {}
    known = np.logical_and.reduce(held)
    at = [i for i in map(trial.index, sorted(epochs)) if known[i]]
    tasks = Tasks(tables, at)
    means = {m: table.means for m, table in tables.items()}
    return {
        int(trial.epochs[row]): ReportScores(
            {m: float(means[m][row]) for m in MEASURES}, partial(tasks.of, row)
        )
        for row in at
    }
