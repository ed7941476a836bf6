"""A scheduler at work on a run folder: who is trained on and how far, who is stopped, who goes on.

Everything is decided from what is recorded (`decide`), and what was decided can be decided again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.selection.stopping.decisions import decide
from fsl_sweep.orchestrator.text.printed import counted


def advance(
    ledger: Ledger,
    plan: Plan,
    trials: Collection[str],
    whole: bool = False,
    stopped: Callable[[str, TrialEnd], None] = lambda *_: None,
    notify: Callable[[str], None] = lambda _: None,
) -> dict[str, int]:
    """Stop the trials that the plan's scheduler stops now; return those to train, and how far.

    Args:
        ledger: of the run folder.
        plan: the sweep; without a scheduler, every trial is trained to its end.
        trials: ids of those that are to be run.
        whole: whether to train everything all the same, also what was stopped.
        stopped: called with each trial that is stopped now, and its end.
        notify: called where trials that had been stopped go on.

    Raises:
        MachineFailure: what is decided cannot be recorded.
    """
    waiting: dict[str, int] = {}
    reasons: dict[str, str] = {}
    if plan.scheduler is not None and not whole:
        histories = ledger.histories(plan, plan.main.id, plan.main.id, checked=False)
        waiting, reasons = decide(plan, plan.scheduler, histories)
    going: list[PlannedTrial] = []
    for planned in {trial.id: trial for trial in plan.trials if trial.id in trials}.values():
        storage, reason = ledger.trial(planned.id), reasons.get(planned.id)
        if reason is None:
            going.append(planned)
        elif (end := storage.read_end()) is None or end.retriable:
            end = TrialEnd("stopped", reason, trained=max(storage.snapshots(), default=0))
            storage.end(end, plan.main.id)
            stopped(planned.id, end)
    for remark in _reopened(ledger, going):
        notify(remark)
    until = {trial.id: waiting.get(trial.id, trial.spec.epochs) for trial in going}
    return {
        trial.id: until[trial.id]
        for trial in going
        if ledger.trial(trial.id).unfinished(trial, plan.main.id, until[trial.id])
    }


def _reopened(ledger: Ledger, trials: Iterable[PlannedTrial]) -> Iterator[str]:
    """Set aside that some of these trials were stopped, so that they go on; say how many."""
    after: list[int] = []
    for trial in trials:
        storage = ledger.trial(trial.id)
        end = storage.read_end()
        if end is not None and end.status == "stopped":
            storage.reopen()
            after.append(storage.resumes_after(trial.spec))
    if after:
        text = f"{counted(len(after), 'trial')} that had been stopped go on"
        again = after.count(0)
        yield f"{text}{f', {again} from the beginning: no state was kept' if again else ''}."
