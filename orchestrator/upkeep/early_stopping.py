"""A scheduler at work on a run folder: who is trained on and how far, who is stopped, who goes on.

Everything is decided from what is recorded (`decide`), and what was decided can be decided again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.spec import TrialSpec
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
    waiting, reasons = _decided(ledger, plan, whole)
    going: list[PlannedTrial] = []
    for planned in {trial.id: trial for trial in plan.trials if trial.id in trials}.values():
        storage, reason = ledger.trial(planned.id), reasons.get(planned.id)
        if reason is None:
            going.append(planned)
        elif (end := storage.read_end()) is None or end.retriable:
            end = TrialEnd("stopped", reason, trained=max(storage.snapshots(), default=0))
            storage.end(end, plan.main.id)
            stopped(planned.id, end)
    until = {trial.id: waiting.get(trial.id, trial.spec.epochs) for trial in going}
    for remark in _reopened(ledger, going, until):
        notify(remark)
    return {
        trial.id: until[trial.id]
        for trial in going
        if ledger.trial(trial.id).unfinished(trial, plan.main.id, until[trial.id])
    }


def ended_early(ledger: Ledger, plan: Plan) -> dict[str, int]:
    """Return the trials of a plan that were stopped, and how many epochs they were trained."""
    ends = {trial: ledger.trial(trial).read_end() for trial in plan.specs}
    return {t: end.trained or 0 for t, end in ends.items() if end and end.status == "stopped"}


def going_on(
    ledger: Ledger, plan: Plan, stopped: Mapping[str, int], whole: bool = False
) -> dict[str, TrialSpec]:
    """Return which of the trials ``stopped`` early a run trains on; with ``whole`` all of them.

    Those that wait at the rung where they were stopped are decided about again: none of these.
    """
    until, again = _decided(ledger, plan, whole) if stopped else ({}, {})
    specs = {trial: plan.specs[trial] for trial in stopped.keys() - again.keys()}
    return {t: spec for t, spec in specs.items() if until.get(t, spec.epochs) > stopped[t]}


def _decided(ledger: Ledger, plan: Plan, whole: bool) -> tuple[dict[str, int], dict[str, str]]:
    """Return which trials wait at a rung, and which are stopped, as of `decide`."""
    if plan.scheduler is None or whole:
        return {}, {}
    histories = ledger.histories(plan, plan.main.id, plan.main.id, checked=False)
    return decide(plan, plan.scheduler, histories)


def _reopened(
    ledger: Ledger, trials: Iterable[PlannedTrial], until: Mapping[str, int]
) -> Iterator[str]:
    """Set aside that some of these trials were stopped, so that they may go on; say how many."""
    after, waiting = list[int](), 0
    for trial in trials:
        storage = ledger.trial(trial.id)
        end = storage.read_end()
        if end is not None and end.status == "stopped":
            storage.reopen()
            if until[trial.id] <= (end.trained or 0):
                waiting += 1
            else:
                after.append(storage.resumes_after(trial.spec))
    if waiting:
        text = f"{counted(waiting, 'trial')} that had been stopped wait at the same rung"
        yield f"{text}: others have yet to reach it."
    if after:
        yield they_go_on(after)


def they_go_on(after: Sequence[int]) -> str:
    """Say how many stopped trials go on, and that those after no epoch begin again."""
    text = f"{counted(len(after), 'trial')} that had been stopped go on"
    again = after.count(0)
    return f"{text}{f', {again} from the beginning: no state was kept' if again else ''}."
