"""A scheduler at work on a run folder: who is trained on and how far, who is stopped, who goes on.

Everything is decided from what is recorded (`decide`), and what was decided can be decided again.
"""

from collections.abc import Collection

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.selection.stopping.decisions import Decisions, decide


def advance(ledger: Ledger, plan: Plan, trials: Collection[str], whole: bool) -> dict[str, int]:
    """Stop the trials that the plan's scheduler stops now; return those to train, and how far.

    Args:
        ledger: of the run folder.
        plan: the sweep; without a scheduler, every trial is trained to its end.
        trials: ids of those that are to be run.
        whole: whether to train everything all the same, also what was stopped.

    Raises:
        MachineFailure: what is decided cannot be recorded.
    """
    decisions = Decisions({}, {})
    if plan.scheduler is not None and not whole:
        histories = ledger.histories(plan, plan.main.id, plan.main.id, checked=False)
        decisions = decide(plan, plan.scheduler, histories)
    may: dict[str, int] = {}
    for planned in {trial.id: trial for trial in plan.trials if trial.id in trials}.values():
        storage, reason = ledger.trial(planned.id), decisions.stopped.get(planned.id)
        end = storage.read_end()
        if reason is not None:
            if end is None or end.retriable:
                storage.end(TrialEnd("stopped", reason), plan.main.id)
            continue
        if end is not None and end.status == "stopped":
            storage.reopen()
        until = decisions.until.get(planned.id, planned.spec.epochs)
        if storage.unfinished(planned, plan.main.id, until):
            may[planned.id] = until
    return may
