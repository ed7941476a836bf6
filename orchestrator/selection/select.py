"""From recorded trials to selections: every strategy, for each method and seed.

Selectors choose on the *selection* tasks; reported numbers come from the *report* tasks. Only whole
replicates take part, so that an unfinished trial's early peak never wins: what depends on a
missing, failed or damaged trial is left out. A missing class fold leaves out only cross-validated
strategies. A trial that diverged is a candidate that loses (`candidates`). What is reported is the
full trial, at the epoch that the snapshot selector chose.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TypeVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, ScoreTable, TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.replay.lacking import unknown
from fsl_sweep.orchestrator.selection.candidates import candidates_of
from fsl_sweep.orchestrator.selection.choices import (
    Chosen,
    read_once,
    recorded,
    seen,
    single_selector,
)
from fsl_sweep.orchestrator.selection.completeness import (
    FoldTrials,
    Replicate,
    gaps_of,
    why_unusable,
)
from fsl_sweep.orchestrator.selection.results import (
    Front,
    LeftOut,
    Scores,
    Selected,
    Selection,
    Strategy,
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
from fsl_sweep.orchestrator.selectors.base import (
    NONE,
    is_cross_validated,
    is_oracle,
    reads_each_fold,
)
from fsl_sweep.orchestrator.statistics import mean_alone, mean_interval
from fsl_sweep.orchestrator.statistics.ties import comparable

__all__ = ["LeftOut", "Selected", "Selection", "Strategy", "measured", "select", "why_unusable"]

ORACLE = "oracle"
"""The name of both selectors of the reference that regret is measured against."""

S = TypeVar("S", SnapshotSelector, HyperparameterSelector, FrontSelector)


def select(
    histories: Iterable[TrialHistory] | Chosen,
    snapshot: Sequence[str],
    hyperparameter: Sequence[str],
    base_weight: float | None = None,
    pairs: Collection[tuple[str, str]] | None = None,
) -> Selected:
    """Run every pair of selectors on every method and seed.

    Args:
        histories: one for each planned trial, in plan order, recorded or not; or a shared
            ``Chosen`` of them.
        snapshot: names of snapshot selectors, such as ``val`` or ``mixture(0.5)``.
        hyperparameter: names of hyperparameter selectors.
        base_weight: of BaseGen in the mixture to compare methods by; None for NovelGen.
        pairs: names of the pairs that are strategies; all by default. Fronts have all.

    Raises:
        UnknownName, PluginError, ConfigError: a selector cannot be used.
        SealedMeasurement: a selector read what it did not declare.
    """
    chosen = histories if isinstance(histories, Chosen) else Chosen(histories)
    first = {name: chosen.selector(name) for name in snapshot}
    named = {name: hyperparameter_selector(name) for name in hyperparameter}
    second = {name: s for name, s in named.items() if isinstance(s, HyperparameterSelector)}
    keepers = {name: s for name, s in named.items() if isinstance(s, FrontSelector)}
    strategies = tuple(
        _strategy(s, t, chosen.stopped_by)
        for s, t in product(first.items(), second.items())
        if pairs is None or (s[0], t[0]) in pairs
    )
    read_folds = any(map(is_cross_validated, (*first.values(), *named.values())))
    picks: list[Selection] = []
    fronts: list[Front] = []
    left_out: list[LeftOut] = []
    oracles: dict[tuple[str, int], Snapshot | None] = {}
    diverged: dict[tuple[str, Strategy], tuple[int, ...]] = defaultdict(tuple)
    for replicate, trials in chosen.replicates.items():
        gaps = gaps_of(trials)
        fold_gaps = [gap for trial in trials if read_folds for gap in chosen.folds.gaps(trial)]
        left_out += gaps + fold_gaps
        if not gaps:
            usable = _usable(first, bool(fold_gaps))
            seconds, (method, seed) = _usable(second, bool(fold_gaps)), replicate
            choices, failed, lost = _choose(replicate, trials, chosen, usable, seconds, pairs)
            kept, not_kept = _fronts(replicate, trials, chosen, usable, keepers)
            oracles[replicate] = _oracle(replicate, trials, chosen)
            for strategy in lost:
                diverged[method, strategy] += (seed,)
            picks += choices
            fronts += kept
            left_out += failed + not_kept
    selected = Selected(
        methods=tuple(dict.fromkeys(method for method, _ in chosen.replicates)),
        strategies=strategies,
        selections=(),
        left_out=tuple(left_out),
        base_weight=base_weight,
        picks=tuple(picks),
        oracles=oracles,
        diverged=dict(diverged),
    )
    return replace(measured(selected, chosen.planned), fronts=tuple(fronts))


def measured(selected: Selected, histories: Iterable[TrialHistory]) -> Selected:
    """Return the same choices with the report scores of ``histories``; fronts are left out.

    Each snapshot is read once, whoever chose it. One of a trial that is not among the histories
    counts as not measured.
    """
    reported = {(trial.method, trial.trial): trial for trial in histories}
    epochs: dict[tuple[str, str], set[int]] = defaultdict(set)
    for pick in selected.picks:
        epochs[pick.method, pick.trial].add(pick.epoch)
    scores = {key: _scores(reported[key], at) for key, at in epochs.items() if key in reported}
    references = {
        replicate: Snapshot(reported[oracle.method, oracle.trial], oracle.epoch).mean("novel")
        for replicate, oracle in selected.oracles.items()
        if oracle is not None and (oracle.method, oracle.trial) in reported
    }
    selections: list[Selection] = []
    left_out = [gap for gap in selected.left_out if gap.epoch is None]
    for pick in selected.picks:
        key, method, epoch = (pick.method, pick.trial), pick.method, pick.epoch
        known = scores.get(key, {}).get(epoch)
        if known is None:
            why = f"the chosen snapshot (epoch {epoch}) is not measured on the report tasks"
            left_out.append(LeftOut.of(pick.snapshot.history, why, pick.strategy, epoch))
            continue
        means, read = known
        reference, novel = references.get((method, pick.seed), float("nan")), means["novel"]
        # Zero if the two are equal except for the order of summation.
        same = comparable(reference) == comparable(novel)
        selections.append(
            replace(
                pick,
                snapshot=Snapshot(reported[key], epoch),
                means=means,
                regret=0.0 if same else reference - novel,
                scores=read,
                base_weight=selected.base_weight,
            )
        )
    return replace(selected, selections=tuple(selections), left_out=tuple(left_out), fronts=())


def _usable(selectors: Mapping[str, S], lacks_folds: bool) -> Mapping[str, S]:
    """Return the selectors that can be asked if folds are missing or not."""
    if not lacks_folds:
        return selectors
    return {name: s for name, s in selectors.items() if not is_cross_validated(s)}


def _strategy(
    first: tuple[str, SnapshotSelector],
    second: tuple[str, HyperparameterSelector],
    stopped_by: str | None,
) -> Strategy:
    (name, snapshot), (other_name, hyperparameter) = first, second
    oracle = is_oracle(snapshot) or is_oracle(hyperparameter)
    crossed = is_cross_validated(snapshot) or is_cross_validated(hyperparameter)
    among_finalists = stopped_by is not None and stopped_by not in hyperparameter.needs
    return Strategy(name, other_name, oracle, crossed, among_finalists and not oracle)


def _choose(
    replicate: Replicate,
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Mapping[str, SnapshotSelector],
    second: Mapping[str, HyperparameterSelector],
    pairs: Collection[tuple[str, str]] | None = None,
) -> tuple[list[Selection], list[LeftOut], list[Strategy]]:
    """Return what strategies choose of one replicate, what could not, and what had no candidate."""
    picks: list[Selection] = []
    failed: list[LeftOut] = []
    diverged: list[Strategy] = []
    for name, selector in first.items():
        try:
            rivals = candidates_of(trials, selector, _folds(chosen, selector))
            left = [(trial, trial.index(chosen.epoch(trial, name))) for trial in rivals]
        except SelectionError as failure:
            failed.append(LeftOut(*replicate, str(failure), snapshot_selector=name))
            continue
        for other_name, other in second.items():
            if pairs is not None and (name, other_name) not in pairs:
                continue
            strategy = _strategy((name, selector), (other_name, other), chosen.stopped_by)
            rivals = candidates_of(trials, selector, _folds(chosen, selector, other))
            if not rivals:
                diverged.append(strategy)
                continue
            names = {trial.trial for trial in rivals}
            among = [(trial, row) for trial, row in left if trial.trial in names]
            try:
                if other.every_snapshot:
                    snapshot, spent = _of_all(rivals, other)
                else:
                    snapshot, spent = _of_configurations(among, other, chosen, name)
            except SelectionError as failure:
                failed.append(LeftOut(*replicate, str(failure), None, None, name, other_name))
                continue
            if is_oracle(selector) and not other.every_snapshot:  # it has read all of them before
                in_folds = rivals if reads_each_fold(other) else ()
                of_folds = [fold for trial in in_folds for fold in chosen.folds.of(trial)]
                spent = sum(len(trial.epochs) for trial in [*rivals, *of_folds])
            several = any(len(trial.epochs) > 1 for trial in rivals)
            scored = bool((several and selector.needs) or (len(rivals) > 1 and other.needs))
            picks.append(Selection(snapshot, strategy, spent, by_score=scored))
    return picks, failed, diverged


def _folds(
    chosen: Chosen, *selectors: SnapshotSelector | HyperparameterSelector | FrontSelector
) -> FoldTrials | None:
    """Return the trials of class folds, where one of the selectors reads them."""
    return chosen.folds if any(map(is_cross_validated, selectors)) else None


def _of_configurations(
    left: Sequence[tuple[TrialHistory, int]],
    selector: HyperparameterSelector,
    chosen: Chosen,
    snapshot: str,
) -> tuple[Snapshot, int]:
    """Return what is chosen, and how many novel scores are read.

    Each of ``left`` is a trial with the position of what ``snapshot`` chose in it.
    """
    if all(recorded(trial, selector.needs) for trial, _ in left):
        at = apply_at_once(selector, lambda m: np.array([[seen(t, m)[i] for t, i in left]]))
        if at is not None and at[0] != NONE:
            trial, row = left[int(at[0])]
            spent = len(left) if is_oracle(selector) else 0
            return Snapshot(trial, int(trial.epochs[row])), spent
    candidates = chosen.candidates([trial for trial, _ in left], snapshot)
    candidates = chosen.with_folds(candidates, snapshot, selector)
    best, spent = apply_counted(selector, candidates)
    trial = next(t for (t, _), c in zip(left, candidates, strict=True) if c is best)
    return Snapshot(trial, best.epoch), spent


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


def _oracle(
    replicate: Replicate, trials: Sequence[TrialHistory], chosen: Chosen
) -> Snapshot | None:
    """Return what oracle / oracle chooses; None if it cannot."""
    first, second = {ORACLE: chosen.selector(ORACLE)}, {ORACLE: single_selector(ORACLE)}
    picks, *_ = _choose(replicate, trials, chosen, first, second)
    return picks[0].snapshot if picks else None


def _fronts(
    replicate: Replicate,
    trials: Sequence[TrialHistory],
    chosen: Chosen,
    first: Mapping[str, SnapshotSelector],
    second: Mapping[str, FrontSelector],
) -> tuple[list[Front], list[LeftOut]]:
    """Return the fronts of one replicate, and what could not be made."""
    fronts: list[Front] = []
    failed: list[LeftOut] = []
    for (name, selector), (other_name, other) in product(first.items(), second.items()):
        rivals = candidates_of(trials, selector, _folds(chosen, selector, other))
        if not rivals:
            continue
        try:
            candidates = chosen.candidates(rivals, name)
            front = {candidate.trial for candidate in apply(other, candidates)}
        except SelectionError as failure:
            failed.append(LeftOut(*replicate, str(failure), None, None, name, other_name))
            continue
        points = tuple(Snapshot(t, c.epoch) for t, c in zip(rivals, candidates, strict=True))
        kept = tuple(point for point in points if point.trial in front)
        oracle = is_oracle(selector) or is_oracle(other)
        fronts.append(Front(*replicate, name, other_name, oracle, points, kept))
    return fronts, failed


def _scores(
    trial: TrialHistory, epochs: Collection[int]
) -> dict[int, tuple[Mapping[Measure, float], Callable[[Measure], Scores]]]:
    """Return means, and what reads tasks, of the snapshots of one trial that are measured.

    One whose scores are not all numbers is not. A measure that the trial does not hold (`unknown`)
    stays NaN.
    """
    tables: dict[Measure, ScoreTable] = {m: trial.scores[m, "report"] for m in MEASURES}
    held = [np.isfinite(table.means) for table in tables.values() if not unknown(table)]
    if not held:
        return {}
    whole = np.logical_and.reduce(held)
    rows = [row for row in map(trial.index, sorted(epochs)) if whole[row]]

    @cache
    def read(measure: Measure) -> dict[int, Scores]:
        return dict(zip(rows, _of_tasks(tables[measure], rows), strict=True))

    return {
        int(trial.epochs[row]): (
            {m: float(table.means[row]) for m, table in tables.items()},
            lambda measure, row=row: read(measure)[row],
        )
        for row in rows
    }


def _of_tasks(table: ScoreTable, rows: Sequence[int]) -> list[Scores]:
    """Read the interval of each snapshot and its accuracy on each task. Raises as ``load``."""
    accuracies = table.load()[[*rows]]
    if not table.per_task:
        return [(mean_alone(float(tasks[0])), tasks[:0]) for tasks in accuracies]
    means = table.means[[*rows]].tolist()
    return [
        (replace(mean_interval(tasks), mean=mean), tasks)
        for mean, tasks in zip(means, accuracies, strict=True)
    ]
