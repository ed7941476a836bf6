"""Which two snapshots of a run to study: what a strategy chose, or two that differ so much."""

import shlex
from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.errors import BadData, ConfigError, RunFolderError, UnknownName
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.selection.evidence import Evidence

Picked = tuple[Snapshot, str]
"""A snapshot, and how it was picked."""


def chosen_pair(
    evidence: Evidence,
    methods: tuple[str, str],
    epochs: tuple[int | None, int | None],
    seed: int | None,
) -> tuple[Picked, Picked]:
    """Return what the leading strategy chose of both methods, for one seed; or other epochs.

    Raises:
        UnknownName: there is no such method.
        ConfigError: there is no such seed or epoch, or both snapshots are the same.
        RunFolderError: the strategy chose nothing of a method.
    """
    seed = _seed(evidence, methods, seed)
    lead, selections = evidence.lead, evidence.selected.selections
    picked: list[Picked] = []
    for method, epoch, flag in zip(methods, epochs, ("--epoch-a", "--epoch-b"), strict=True):
        cell = (c.snapshot for c in selections if (c.method, c.strategy) == (method, lead))
        snapshot = next((chosen for chosen in cell if chosen.seed == seed), None)
        if snapshot is None:
            raise RunFolderError(f"{lead or 'No strategy'} chose no snapshot of {method}, {seed=}.")
        if epoch is not None:
            known = snapshot.history.epochs.tolist()
            if epoch not in known:
                raise ConfigError("", flag, f"{method} has epochs {known[0]} to {known[-1]}")
            snapshot = Snapshot(snapshot.history, epoch)
        by = f"{lead}" if epoch is None else f"epoch given, configuration by {lead}"
        picked.append((snapshot, by))
    a, b = picked
    if (a[0].trial, a[0].epoch) == (b[0].trial, b[0].epoch):
        raise ConfigError("", "A B", f"both are {a[0]}; give --epoch-a or --epoch-b")
    return a, b


def nearest_pair(
    evidence: Evidence, methods: tuple[str, str], difference: float, seed: int | None
) -> tuple[Picked, Picked]:
    """Return the kept snapshots of two methods whose recorded NovelGen differ most nearly so much.

    Of all configurations and epochs, one seed, in either direction; report tasks. The true
    difference is another: this is a search for candidates.

    Raises:
        UnknownName, ConfigError: as ``chosen_pair``.
        RunFolderError: no weights are kept.
        BadData: there is only one snapshot.
    """
    seed = _seed(evidence, methods, seed)
    ledger = Ledger(evidence.source.places[0])
    first, second = (_kept(evidence, ledger, method, seed) for method in methods)
    scores = [np.array([s.mean("novel") for s in kept]) for kept in (first, second)]
    gaps = np.abs(np.abs(scores[0][:, None] - scores[1]) - difference)
    keys = [[(s.trial, s.epoch) for s in kept] for kept in (first, second)]
    gaps[np.array([[key == other for other in keys[1]] for key in keys[0]])] = np.inf
    row, column = np.unravel_index(int(np.argmin(gaps)), gaps.shape)
    if not np.isfinite(gaps[row, column]):
        raise BadData("There is only one kept snapshot to take a pair from.")
    by = f"recorded NovelGen, nearest to a difference of {100 * difference:.2f} points"
    return (first[row], by), (second[column], by)


def _kept(evidence: Evidence, ledger: Ledger, method: str, seed: int) -> list[Snapshot]:
    """Return each snapshot that has weights and a recorded NovelGen."""
    kept = [
        snapshot
        for trial in _trials(evidence, method)
        if trial.seed == seed
        for epoch in ledger.trial(trial.trial).snapshot_epochs()
        if epoch in trial.epochs
        for snapshot in [Snapshot(trial, epoch)]
        if np.isfinite(snapshot.mean("novel"))
    ]
    if not kept:
        raise RunFolderError(
            f"No snapshot of {method} with seed {seed} has weights: they were pruned, or nothing "
            "was recorded. Train with `keep: all`."
        )
    return kept


def _trials(evidence: Evidence, method: str) -> Sequence[TrialHistory]:
    """Return the full trials of a method. Raises UnknownName."""
    known = dict.fromkeys(trial.method for trial in evidence.histories)
    if method not in known:
        raise UnknownName("method", method, known)
    return [t for t in evidence.histories if t.method == method and t.fold is None]


def _seed(evidence: Evidence, methods: tuple[str, str], seed: int | None) -> int:
    """Return the seed, by default the first that both methods have complete."""
    planned = [{trial.seed for trial in _trials(evidence, method)} for method in methods]
    complete = [{t.seed for t in evidence.complete if t.method == method} for method in methods]
    both, whole = sorted(planned[0] & planned[1]), sorted(complete[0] & complete[1])
    if not both or (seed is not None and seed not in both):
        known = ", ".join(map(str, both)) or "none"
        raise ConfigError("", "--trial-seed", f"both methods have the seeds: {known}")
    if not whole or (seed is not None and seed not in whole):
        known = ", ".join(map(str, whole)) or "none"
        command = shlex.join(["fsl-sweep", "status", str(evidence.source.places[0])])
        raise RunFolderError(
            f"Both methods have all trials of these seeds done: {known}. `{command}` says what is "
            "missing."
        )
    return whole[0] if seed is None else seed
