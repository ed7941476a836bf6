"""What ``--dry-run`` shows: the plan, what is done of it, and what the rest will take."""

import sys
from collections.abc import Collection, Mapping, Sequence

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.cli.progress import trial_label
from fsl_sweep.orchestrator.errors import UserError
from fsl_sweep.orchestrator.ledger.ledger import COME_BACK, Ledger
from fsl_sweep.orchestrator.ledger.lock import check_writable
from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.early_stopping import scheduler_remarks
from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.selection.chosen import wanted
from fsl_sweep.orchestrator.text.durations import duration
from fsl_sweep.orchestrator.text.printed import counted, say
from fsl_sweep.orchestrator.upkeep.early_stopping import ended_early, going_on, they_go_on
from fsl_sweep.orchestrator.upkeep.pruning import LOST
from fsl_sweep.orchestrator.upkeep.remaining import check_there, to_measure
from fsl_sweep.orchestrator.upkeep.retrying import check_retry, to_retry


def show_plan(prepared: Prepared, complete: bool = False) -> int:
    """Print trials, protocols, cost and what is done already; then what would stop a run of them.

    With ``complete`` nothing is stopped early, and what was goes on.

    Returns:
        The exit code: 2 where something would, else 0.
    """
    ledger, plan, obstacles = prepared.ledger, prepared.plan, []
    benchmarks: Mapping[str, Benchmark] = {}
    try:
        check_writable(ledger.path)
    except UserError as obstacle:
        obstacles.append(obstacle)
    try:
        plan, benchmarks = prepared.opened()
    except UserError as obstacle:
        obstacles.append(obstacle)
    known = ledger.check_plan(plan) is not None and plan.fingerprint is not None
    chosen = plan.ids_of(prepared.only)
    check_retry(prepared.retry, chosen)
    retried = to_retry(ledger, prepared.retry, chosen)
    stopped = ended_early(ledger, plan)
    unfinished = ledger.pending(plan) | going_on(ledger, plan, stopped, complete)
    left = {t: spec for t, spec in plan.specs.items() if t in unfinished or t in retried}
    pending = {trial: spec for trial, spec in left.items() if trial in chosen}
    histories = ledger.histories(plan) if known else []
    resumed = {**ledger.resumed(pending), **dict.fromkeys(retried, 0)}
    stay = stopped.keys() - left.keys()
    _show_trials(ledger, plan, left, pending, retried, resumed, stay)
    say(f"to train: {planned_work.summary(pending, resumed)}")
    if pending and plan.scheduler is not None and not complete:
        again = "; what it has stopped may go on" if stay else ""
        say(f"  less what {plan.scheduler.name} will stop{again}")
        for remark in scheduler_remarks(plan):
            say(f"  {remark}")
    if going := pending.keys() & stopped.keys():
        say(f"  {they_go_on([resumed[trial] for trial in going])}")
    _show_search(plan)
    seconds = None
    if histories:
        seconds = planned_work.expected_seconds(plan, histories, pending, resumed)
    if seconds is not None:
        expected = duration(seconds)
        say(f"expected: {expected} of trial time, from the pace of those done already")
    _show_measuring(ledger, plan, benchmarks, histories, left, retried)
    say(f"weights: how much they take is said after the first epoch (keep: {plan.keep})")
    if plan.keep != "all":
        say(f"  {LOST[plan.keep]}")
    _show_remarks(ledger, plan, pending)
    if known:
        try:
            to_measure(ledger, plan, plan.requested, plan.specs.keys() - retried)
        except UserError as obstacle:
            obstacles.append(obstacle)
    for obstacle in obstacles:
        say(f"fsl-sweep: this plan cannot run: {obstacle}", sys.stderr)
    return 2 if obstacles else 0


def show_protocols(request: MeasureRequest) -> int:
    """Print what is to be measured, what is measured already, and how long the rest may take.

    Returns:
        The exit code, 0.

    Raises:
        RunFolderError: there is nothing to measure, or weights are not there.
    """
    ledger, plan = request.ledger, request.plan
    check_there(ledger, plan, request.protocols)
    counts: dict[str, int] = {}
    for planned in request.protocols:
        epochs = wanted(ledger, plan, planned.snapshots)
        total = sum(map(len, epochs.values()))
        left = sum(map(len, to_measure(ledger, plan, [planned], plan.specs).values()))
        of = f"{counted(total, 'snapshot')} of {counted(len(epochs), 'trial')}"
        say(f"{planned.name}: {planned.protocol.described}; {planned.snapshots} snapshots")
        say(f"  {of}: {total - left:,} measured already, {left:,} to measure")
        counts[planned.name] = left
    _show_expected(plan, request.benchmarks, ledger.histories(plan), counts)
    if untrained := len(ledger.pending(plan)):
        say(f"not trained yet, so that they take no part: {counted(untrained, 'trial')}")
    return 0


def _show_trials(
    ledger: Ledger,
    plan: Plan,
    left: Mapping[str, TrialSpec],
    pending: Mapping[str, TrialSpec],
    retried: Collection[str],
    resumed: Mapping[str, int],
    stopped: Collection[str],
) -> None:
    say(f"{plan.title}: {plan.counted} of {counted(len(plan.methods), 'method')}")
    say(f"run folder: {ledger.path}")
    for number, trial in enumerate(plan.trials):
        label = trial_label(trial.method, trial.hyperparameters, trial.spec.seed, trial.fold)
        state = "to run" if trial.id in pending else "later" if trial.id in left else "done"
        state = "again" if trial.id in retried else state
        of = f"{resumed.get(trial.id)} of {counted(trial.spec.epochs, 'epoch')} done"
        begun = f"; {of}" if resumed.get(trial.id) else ""
        begun = "; stopped early" if trial.id in stopped else begun
        say(f"  {number:4d}  {trial.id}  {state:6}  {label}{begun}")
    later = f"; not in --only: {len(left) - len(pending)}" if len(left) > len(pending) else ""
    early = f", {len(stopped)} of them stopped early" if stopped else ""
    say(f"done already: {len(plan.specs) - len(left)}{early}; to run: {len(pending)}{later}")


def _show_search(plan: Plan) -> None:
    """Say how many configurations are still to be proposed, and how many trials they make."""
    for method, searched in plan.searched.items():
        if searched.rest:
            planned = [trial for trial in plan.trials if trial.method == method]
            each = len(planned) // len(searched.planned)
            count, total = plan.proposed[method]
            say(
                f"search: {count} of {counted(total, 'configuration')} of {method} proposed so "
                f"far; the rest makes {counted(searched.rest * each, 'trial')} more"
            )


def _show_measuring(
    ledger: Ledger,
    plan: Plan,
    benchmarks: Mapping[str, Benchmark],
    histories: Sequence[TrialHistory],
    left: Mapping[str, TrialSpec],
    retried: Collection[str],
) -> None:
    """Show the protocols of the sweep file, and how much of each is done.

    What ``retried`` trials recorded is set aside, and does not count.
    """
    counts: dict[str, int] = {}
    recorded = {t.id: [*ledger.trial(t.id).planned_part(t.spec).weights] for t in plan.trials}
    say("to measure:")
    for planned in plan.protocols:
        done = again = 0
        every = planned.snapshots == "all" or (planned.snapshots == "chosen" and left)
        chosen = {} if every else wanted(ledger, plan, planned.snapshots)
        for trial in plan.specs.keys() - retried if planned.fingerprint is not None else ():
            storage = ledger.trial(trial)
            epochs = recorded[trial] if every else chosen.get(trial, ())
            lacking = len(storage.to_measure(planned.id, epochs, plan.records_answers))
            done += len(epochs) - lacking
            again += 0 if trial in left else lacking
        total = _snapshots(ledger, plan, planned, left, recorded)
        counts[planned.name] = 0 if total is None else max(0, total - done)
        if planned.name == MAIN:  # what is still to be trained is measured as it trains
            counts[MAIN] = again
        of = "" if total is None else f" of {total:,}"
        which = f"{planned.protocol.described}; {planned.snapshots} snapshots"
        say(f"  {planned.name}: {which}: {done:,}{of} measured")
    if benchmarks:
        _show_expected(plan, benchmarks, histories, counts)


def _snapshots(
    ledger: Ledger,
    plan: Plan,
    planned: PlannedProtocol,
    left: Mapping[str, TrialSpec],
    recorded: Mapping[str, Collection[int]],
) -> int | None:
    """Count the snapshots that a protocol measures in the end; None while nothing is chosen."""
    if planned.snapshots == "chosen":
        return None if left else sum(map(len, wanted(ledger, plan, "chosen").values()))
    if planned.snapshots == "last":
        ahead = sum(spec.fold is None for spec in left.values())
        return ahead + sum(trial not in left for trial in wanted(ledger, plan, "last"))
    return sum(
        len(spec.recorded_epochs if trial in left else recorded[trial])
        for trial, spec in plan.specs.items()
    )


def _show_expected(
    plan: Plan,
    benchmarks: Mapping[str, Benchmark],
    histories: Sequence[TrialHistory],
    left: Mapping[str, int],
) -> None:
    seconds = planned_work.measuring_seconds(plan, benchmarks, histories, left)
    if seconds:
        how = "from what measuring took in training and the size of the tasks"
        say(f"expected to measure: about {duration(seconds)} of trial time, {how}")


def _show_remarks(ledger: Ledger, plan: Plan, pending: Mapping[str, TrialSpec]) -> None:
    for caution in plan.cautions:
        say(f"caution: {caution}")
    for remark in ledger.going_on(pending):
        say(remark)
    left_out = ledger.unplanned(plan)
    for name in left_out:
        say(f"no longer planned, left out of the report: {name}")
    if left_out:
        say(f"  {COME_BACK}")
