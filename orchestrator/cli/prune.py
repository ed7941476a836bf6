"""``fsl-sweep prune``: delete snapshots that nothing needs."""

from typing import Annotated, Literal

import typer

from fsl_sweep.orchestrator.cli.status import RunFolder
from fsl_sweep.orchestrator.text.printed import counted, on_disk, say


def prune(
    run: RunFolder,
    keep: Annotated[
        Literal["chosen", "last", "none"], typer.Option(help="The snapshots that stay.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say it; delete nothing.")] = False,
) -> int:
    """Delete the weights of snapshots that nothing needs."""
    from contextlib import nullcontext

    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.sweep import pruning
    from fsl_sweep.orchestrator.sweep.recording import locked

    ledger = Ledger(run)
    ledger.planned()  # no lock is put into another folder
    with nullcontext() if dry_run else locked(ledger):
        plan = ledger.planned()
        pruning.check_prunable(ledger, plan)
        there = {trial: ledger.trial(trial).snapshot_epochs() for trial in plan.specs}
        gone = pruning.prunable(ledger, plan, keep)
        total, count = (sum(map(len, epochs.values())) for epochs in (there, gone))
        size, freed = (pruning.weight_bytes(ledger, epochs) for epochs in (there, gone))
        deleted = "would be" if dry_run else "are"
        say(
            f"{count:,} of {counted(total, 'snapshot')} {deleted} deleted, which frees "
            f"{on_disk(freed)}; {total - count:,} stay ({on_disk(size - freed)}), and so does all "
            "that was measured."
        )
        for sentence in pruning.lost(ledger, plan, keep, gone) if gone else ():
            say(sentence)
        if not dry_run:
            pruning.prune(ledger, gone)
    return 0
