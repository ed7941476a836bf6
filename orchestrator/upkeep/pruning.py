"""Removing the weights that nothing needs any more."""

import shlex
from collections.abc import Collection, Mapping
from contextlib import suppress

from fsl_sweep.orchestrator.errors import RunFolderError, UserError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import Kept
from fsl_sweep.orchestrator.selection.chosen import choosable_epochs, wanted
from fsl_sweep.orchestrator.selection.completeness import gaps_of
from fsl_sweep.orchestrator.text.printed import counted
from fsl_sweep.orchestrator.upkeep.remaining import to_measure

Epochs = Mapping[str, Collection[int]]
"""For each trial, by its id, epochs whose weights are there."""

LOST: Mapping[Kept, str] = {
    "chosen": "Only the snapshots that the file's strategies chose can then be loaded or measured. "
    "A protocol with `snapshots: all` or `last`, another strategy that chooses other snapshots, "
    "and conclusion flips over all snapshots need training again.",
    "last": "Only the last snapshot of each trial can then be loaded or measured. A protocol with "
    "`snapshots: all` or `chosen`, and conclusion flips over all snapshots need training again.",
    "none": "No snapshot can then be loaded or measured: every model, every further protocol, "
    "losses, conclusion flips and more epochs need training again.",
}
"""What later questions no longer have, by which snapshots were kept."""


def check_prunable(ledger: Ledger, plan: Plan) -> None:
    """Raise RunFolderError unless a run is trained and measured as its sweep file asks."""
    if left := ledger.pending(plan):
        raise RunFolderError(
            f"{ledger.path}: {counted(len(left), 'trial')} of {len(plan.specs)} must still be "
            "trained, so it is not known which snapshots will be needed. Finish the run with "
            "`fsl-sweep run`, then prune."
        )
    if todo := to_measure(ledger, plan, plan.requested, plan.specs):
        names = dict.fromkeys(
            name for epochs in todo.values() for missing in epochs.values() for name in missing
        )
        raise RunFolderError(
            f"{ledger.path}: {counted(sum(map(len, todo.values())), 'snapshot')} must still be "
            f"measured under {', '.join(names)}, as the sweep file asks. Finish the run with "
            "`fsl-sweep run`, then prune."
        )


def prunable(ledger: Ledger, plan: Plan, keep: Kept, beyond: bool = False) -> dict[str, list[int]]:
    """Return the epochs of each planned trial whose weights are there and are not to be kept.

    Trials that have not ended keep theirs. So do, with ``chosen``, all of a method and seed of
    which one failed: nothing was chosen among them yet. What was trained beyond the epochs that are
    planned is only among them with ``beyond``.
    """
    if keep == "all":
        return {}
    kept = {} if keep == "none" else wanted(ledger, plan, keep)
    undecided = _undecided(ledger, plan) if keep == "chosen" else set()
    unneeded: dict[str, list[int]] = {}
    for planned in plan.trials:
        storage = ledger.trial(planned.id)
        gone = set(storage.snapshot_epochs()) - set(kept.get(planned.id, ()))
        if not beyond:
            gone &= {*storage.planned_part(planned.spec).weights}
        if gone and planned.id not in undecided and not storage.unfinished(planned, None):
            unneeded[planned.id] = sorted(gone)
    return unneeded


def prune(ledger: Ledger, epochs: Epochs) -> None:
    """Remove the weights of these epochs of trials."""
    for trial, gone in epochs.items():
        ledger.trial(trial).prune(gone)


def states(ledger: Ledger, plan: Plan) -> dict[str, int]:
    """Return the bytes of the states of trials that have ended, from which more epochs go on."""
    sizes = {
        planned.id: ledger.trial(planned.id).resume_size()
        for planned in plan.trials
        if not ledger.trial(planned.id).unfinished(planned, None)
    }
    return {trial: size for trial, size in sizes.items() if size}


def lost(ledger: Ledger, plan: Plan, keep: Kept, gone: Epochs) -> list[str]:
    """Say in sentences what can no longer be asked once the weights of these epochs are gone."""
    sentences, answers = [LOST[keep]], plan.records_answers
    for protocol in plan.protocols:
        epochs = wanted(ledger, plan, protocol.snapshots)
        left = [
            epoch
            for trial in gone.keys() & epochs.keys()
            for epoch in ledger.trial(trial).to_measure(protocol.id, epochs[trial], answers)
            if epoch in gone[trial]
        ]
        if left:
            command = shlex.join(["fsl-sweep", "measure", str(ledger.path), protocol.name])
            sentences.append(
                f"Protocol '{protocol.name}' is not measured on {counted(len(left), 'snapshot')} "
                f"of them; to do that first: `{command}`."
            )
    return sentences


def remove_states(ledger: Ledger, trials: Collection[str]) -> None:
    """Remove the states that these trials go on from."""
    for trial in trials:
        ledger.trial(trial).remove_resume()


def weight_bytes(ledger: Ledger, epochs: Epochs) -> int:
    """Return the bytes that the weights of these epochs of trials take on the disk."""
    return sum(ledger.trial(trial).snapshot_size(e) for trial, some in epochs.items() for e in some)


def prune_ended(ledger: Ledger, plan: Plan, trial: str) -> None:
    """Remove the weights of an ended trial that no strategy of the sweep file can choose.

    What none of the file's snapshot selectors picks in a trial, no strategy can choose once the
    other trials have ended. The last snapshot stays too, for protocols that measure it.
    """
    storage = ledger.trial(trial)
    planned = next(planned for planned in plan.trials if planned.id == trial)
    choosable = None
    with suppress(UserError):  # of a third party's selector: the report will say it
        choosable = choosable_epochs(storage.history(planned, plan.main.id), plan.selectors)
    if choosable is not None:
        storage.prune(set(storage.snapshot_epochs()[:-1]) - choosable)


def _undecided(ledger: Ledger, plan: Plan) -> set[str]:
    """Return the trials of each method and seed of which one takes no part in selections."""
    histories = ledger.histories(plan)
    incomplete = {(gap.method, gap.seed) for gap in gaps_of(histories)}
    return {trial.trial for trial in histories if (trial.method, trial.seed) in incomplete}
