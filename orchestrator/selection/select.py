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
from fsl_sweep.orchestrator.replay.lacking import unknown
from fsl_sweep.orchestrator.selection.budget_curve import read_once
from fsl_sweep.orchestrator.selection.choices import Chosen, recorded, replicates_of, seen
from fsl_sweep.orchestrator.selection.fronts import fronts_of
from fsl_sweep.orchestrator.selection.results import (
    Front,
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
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply_at_once, apply_counted
from fsl_sweep.orchestrator.selectors.base import NONE, is_cross_validated, is_oracle
from fsl_sweep.orchestrator.statistics.ties import comparable

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "measured", "select", "why_unusable"]

ORACLE = "oracle"
"""The name of both selectors of the reference that regret is measured against."""

S = TypeVar("S", SnapshotSelector, HyperparameterSelector)
Named = Sequence[tuple[str, S]]


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
    second = [(name, one) for name, one in named if isinstance(one, HyperparameterSelector)]
    keepers = [(name, one) for name, one in named if isinstance(one, FrontSelector)]
    read_folds = any(is_cross_validated(one) for _, one in [*first, *named])
    replicates = replicates_of(chosen.planned)
    picks: list[Picks] = []
    fronts: list[Front] = []
    left_out: list[LeftOut] = []
    for trials in replicates.values():
        gaps = [_gap(trial, reason) for trial in trials if (reason := why_unusable(trial))]
        torn = [gap for trial in trials if read_folds for gap in chosen.folds.gaps(trial)]
        left_out += gaps + torn
        if not gaps:
            usable = _usable(first, bool(torn)), _usable(second, bool(torn))
            found, failed = _choose(trials, chosen, *usable)
            kept, not_kept = fronts_of(trials, chosen, usable[0], keepers)
            picks.append(Picks(tuple(found), _oracle(trials, chosen)))
            fronts += kept
            left_out += failed + not_kept
    selected = Selected(
        methods=tuple(dict.fromkeys(method for method, _ in replicates)),
        strategies=tuple(_strategy(one, two) for one in first for two in second),
        selections=(),
        left_out=tuple(left_out),
        base_weight=base_weight,
        picks=tuple(picks),
    )
    own = {trial.trial: trial for trial in chosen.planned}
    return replace(measured(selected, own), fronts=tuple(fronts))


def measured(selected: Selected, reported: Mapping[str, TrialHistory]) -> Selected:
    """The same choices with the report scores of ``reported``, by trial id; fronts are left out.

    A chosen snapshot of a trial that is not there counts as not measured.
    """
    found = [_measure(one, reported, selected.base_weight) for one in selected.picks]
    others = [one for one in selected.left_out if one.epoch is None]
    return replace(
        selected,
        selections=tuple(one for selections, _ in found for one in selections),
        left_out=(*others, *(one for _, left_out in found for one in left_out)),
        fronts=(),
    )


def _gap(trial: TrialHistory, reason: str) -> LeftOut:
    return LeftOut(trial.method, trial.seed, reason, trial.trial, trial.hyperparameters)


def _usable(selectors: Named[S], torn: bool) -> Named[S]:
    """The selectors that can be asked if folds are missing (``torn``) or not."""
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
                    pick = _of_all(trials, other)
                else:
                    pick = _of_configurations(left, other, chosen, name)
            except SelectionError as failure:
                failed.append(LeftOut(method, seed, str(failure), None, None, name, other_name))
                continue
            trial, epoch, spent = pick
            if is_oracle(selector) and not other.every_snapshot:  # it has read all of them before
                folds = is_cross_validated(other) and other.asks_folds
                of_folds = [fold for one in trials for fold in chosen.folds.of(one) if folds]
                spent = sum(len(one.epochs) for one in [*trials, *of_folds])
            strategy = _strategy((name, selector), (other_name, other))
            picks.append(Pick(trial, epoch, strategy, spent))
    return picks, failed


def _of_configurations(
    left: Sequence[tuple[TrialHistory, int]],
    selector: HyperparameterSelector,
    chosen: Chosen,
    snapshot: str,
) -> tuple[TrialHistory, int, int]:
    """What is chosen, its epoch, and how many novel scores are read.

    Each of ``left`` is a trial with the position of what ``snapshot`` chose in it.
    """
    found = None
    if all(recorded(trial, selector.needs) for trial, _ in left):
        found = apply_at_once(selector, lambda m: np.array([[seen(t, m)[i] for t, i in left]]))
    if found is not None and found[0] != NONE:
        trial, row = left[int(found[0])]
        return trial, int(trial.epochs[row]), len(left) if is_oracle(selector) else 0
    given = chosen.candidates([trial for trial, _ in left], snapshot)
    if is_cross_validated(selector) and selector.asks_folds:
        given = chosen.with_folds(given, snapshot)
    best, spent = apply_counted(selector, given)
    trial, row = next(own for own, one in zip(left, given, strict=True) if one is best)
    return trial, int(trial.epochs[row]), spent


def _of_all(
    trials: Sequence[TrialHistory], selector: HyperparameterSelector
) -> tuple[TrialHistory, int, int]:
    """What is chosen among all snapshots, and how many novel scores the selector read."""
    whole = Chosen(map(read_once, trials))
    given = [
        Candidate(one.trial, one.hyperparameters, int(epoch), whole.history(one))
        for one in whole.planned
        for epoch in one.epochs
    ]
    best, spent = apply_counted(selector, given)
    return next(one for one in trials if one.trial == best.trial), best.epoch, spent


def _oracle(trials: Sequence[TrialHistory], chosen: Chosen) -> Pick | None:
    """What oracle / oracle chooses; None if it cannot."""
    second = hyperparameter_selector(ORACLE)
    assert isinstance(second, HyperparameterSelector)
    first = [(ORACLE, chosen.selector(ORACLE))]
    picks, _ = _choose(trials, chosen, first, [(ORACLE, second)])
    return picks[0] if picks else None


def _measure(
    chosen: Picks, reported: Mapping[str, TrialHistory], base_weight: float | None
) -> tuple[list[Selection], list[LeftOut]]:
    """Selections; each snapshot is read once, whoever chose it."""
    epochs: dict[str, set[int]] = {}
    for pick in chosen.picks:
        epochs.setdefault(pick.trial.trial, set()).add(pick.epoch)
    found = {key: _measured(reported[key], own) for key, own in epochs.items() if key in reported}
    reference = _reference(chosen.oracle, reported)
    selections: list[Selection] = []
    left_out: list[LeftOut] = []
    for pick in chosen.picks:
        if snapshot := found.get(pick.trial.trial, {}).get(pick.epoch):
            selections.append(_selection(pick, reference, snapshot, base_weight))
            continue
        reason = f"the chosen snapshot (epoch {pick.epoch}) is not measured on the report tasks"
        left_out.append(
            replace(
                _gap(pick.trial, reason),
                snapshot_selector=pick.strategy.snapshot,
                hyperparameter_selector=pick.strategy.hyperparameter,
                epoch=pick.epoch,
            )
        )
    return selections, left_out


def _reference(oracle: Pick | None, trials: Mapping[str, TrialHistory]) -> float:
    """NovelGen on the report tasks of what oracle / oracle chose; NaN if it is not known."""
    if oracle is None or oracle.trial.trial not in trials:
        return float("nan")
    trial = trials[oracle.trial.trial]
    return float(trial.scores["novel", "report"].means[trial.index(oracle.epoch)])


def _measured(trial: TrialHistory, epochs: Collection[int]) -> dict[int, ReportScores]:
    """Snapshots of one trial by epoch, without those whose scores are not all numbers.

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


def _selection(
    pick: Pick, reference: float, snapshot: ReportScores, base_weight: float | None
) -> Selection:
    trial, novel = pick.trial, snapshot.means["novel"]
    # Zero if the two are equal except for the order of summation.
    same = comparable(reference) == comparable(novel)
    return Selection(
        method=trial.method,
        seed=trial.seed,
        strategy=pick.strategy,
        trial=trial.trial,
        configuration=trial.configuration,
        hyperparameters=dict(trial.hyperparameters),
        epoch=pick.epoch,
        means=snapshot.means,
        regret=0.0 if same else reference - novel,
        novel_evaluations=pick.novel_evaluations,
        scores=snapshot.scores,
        base_weight=base_weight,
        among_all=trial.among_all,
    )
