"""What is left to measure in a run folder."""

from collections.abc import Collection, Iterable, Mapping

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.selection.chosen import wanted
from fsl_sweep.orchestrator.text.commands import on_all
from fsl_sweep.orchestrator.text.printed import counted

Todo = Mapping[int, tuple[str, ...]]
"""Epochs of a trial, and the names of the protocols that their snapshots are measured under."""


def to_measure(
    ledger: Ledger, plan: Plan, protocols: Iterable[PlannedProtocol], trials: Collection[str]
) -> Mapping[str, Todo]:
    """Return the snapshots of these trials, as far as they have ended, that protocols lack.

    Returns:
        For each trial its epochs, and for each epoch the names of the protocols.

    Raises:
        RunFolderError: weights of some of them are not there.
    """
    todo: dict[str, dict[int, tuple[str, ...]]] = {}
    answers = plan.records_answers
    for protocol in protocols:
        epochs = wanted(ledger, plan, protocol.snapshots)
        for trial in (trial for trial in epochs if trial in trials):
            for epoch in ledger.trial(trial).to_measure(protocol.id, epochs[trial], answers):
                names = todo.setdefault(trial, {}).setdefault(epoch, ())
                todo[trial][epoch] = (*names, protocol.name)
    _check_weights(ledger, todo)
    return todo


def check_there(ledger: Ledger, plan: Plan, protocols: Collection[PlannedProtocol]) -> None:
    """Raise RunFolderError unless there are snapshots to measure, and their weights."""
    if not any(wanted(ledger, plan, protocol.snapshots) for protocol in protocols):
        raise RunFolderError(
            f"{ledger.path} has no snapshot to measure: no trial has ended, or nothing could be "
            f"chosen among those that have. {on_all([ledger.path], 'status')} says why."
        )
    to_measure(ledger, plan, protocols, plan.specs)


def _check_weights(ledger: Ledger, todo: Mapping[str, Todo]) -> None:
    """Raise RunFolderError where the weights of a snapshot that is to be measured are missing."""
    missing = {
        trial: gone
        for trial, epochs in todo.items()
        if (gone := epochs.keys() - set(ledger.trial(trial).snapshot_epochs()))
    }
    if not missing:
        return
    trial, epochs = next(iter(missing.items()))
    count, total = sum(map(len, missing.values())), sum(map(len, todo.values()))
    pruned = all(epochs <= ledger.trial(trial).pruned() for trial, epochs in missing.items())
    names = {name for trial, gone in missing.items() for e in gone for name in todo[trial][e]}
    raise RunFolderError(
        f"{ledger.path}: the weights of {count} of {counted(total, 'snapshot')} are not there"
        f"{', because they were pruned' if pruned else ''} (trial {trial}, epoch {min(epochs)}, "
        f"...), so that they cannot be measured under {', '.join(sorted(names))}. Only "
        "snapshots whose weights are there can be measured; for others train again in another "
        "folder with `keep: all`."
    )
