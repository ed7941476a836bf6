"""Measuring the snapshots of a run under protocols, on Ray, without training."""

from collections.abc import Callable
from contextlib import ExitStack

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.planning.asked_protocols import Asked
from fsl_sweep.orchestrator.sweep.execute import Following, Jobs, Measured, nobody
from fsl_sweep.orchestrator.sweep.recording import locked, write_tasks
from fsl_sweep.orchestrator.sweep.remaining import to_measure, wanted
from fsl_sweep.orchestrator.text.printed import counted

RETRIES = 2
"""Attempts after the first where measuring a trial fails."""


def measure(
    asked: Asked,
    address: str | None = None,
    following: Following = nobody,
    notify: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Measure what is missing under protocols; where nothing is, no Ray.

    Args:
        asked: what to measure.
        address: a Ray cluster to join; None starts Ray on this machine.
        following: gives the listeners.
        notify: called with a remark where trials take no part.

    Raises:
        RunFolderError: the run folder is in use, or weights that are needed are not there.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    ledger, trials = asked.ledger, asked.plan.specs.keys()
    with ExitStack() as stack:
        stack.enter_context(locked(ledger))
        if left := ledger.pending(asked.plan):
            notify(
                f"{ledger.path}: {counted(len(left), 'trial')} of {len(trials)} must still be "
                "trained and take no part; run the same command again once they are."
            )
        check_there(asked)
        plan = ledger.add_protocols(asked.protocols, asked.places)
        write_tasks(ledger, plan, asked.protocols, asked.benchmarks)
        jobs = Jobs(ledger, plan, RETRIES, address, following, stack)
        return jobs.measure(asked.protocols, trials)


def check_there(asked: Asked) -> None:
    """Check that there are snapshots to measure, and their weights.

    Raises:
        RunFolderError: there are none.
    """
    ledger, plan = asked.ledger, asked.plan
    if not any(wanted(ledger, plan, one.snapshots) for one in asked.protocols):
        raise RunFolderError(
            f"{ledger.path} has no snapshot to measure: no trial has ended, or nothing could be "
            "chosen among those that have. `fsl-sweep status` says why."
        )
    to_measure(ledger, plan, asked.protocols, plan.specs)
