"""Commands about a run folder as it is: ``status``, ``verify`` and ``prune``."""

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import pairwise
from shlex import quote
from statistics import median
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fsl_sweep.orchestrator.cli.options import RunFolder
from fsl_sweep.orchestrator.text.printed import counted, on_disk, one_line, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.records.measures import TrialHistory
    from fsl_sweep.orchestrator.records.plan import Plan

_PERIOD = 10.0
_TIMES = 3


def status(
    run: RunFolder,
    watch: Annotated[
        bool, typer.Option("--watch", help="Say it again every 10 s, until no run is active.")
    ] = False,
) -> int:
    """Say what is done, running and failed, and why; and which trials lag behind."""
    from fsl_sweep.orchestrator.ledger.lock import holder_of

    while True:
        code = _show_status(run)
        if not watch or not holder_of(run):
            return code
        time.sleep(_PERIOD)
        say("")


def _show_status(run: RunFolder) -> int:
    from fsl_sweep.orchestrator.cli.report import report_command
    from fsl_sweep.orchestrator.errors import RunFolderError
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.ledger.lock import holder_of
    from fsl_sweep.orchestrator.ledger.verify import check_outside_trials
    from fsl_sweep.orchestrator.records.search import searching

    ledger = Ledger(run)
    plan = ledger.planned()
    whole = _whole(ledger, plan)
    histories = _histories(ledger, plan, leave_out=whole)
    states = [_state(history, ledger) for history in histories]
    counts = Counter({"done": len(whole)} if whole else {}) + Counter(states)
    lines = [line for each in zip(histories, states, strict=True) for line in _remarks(*each)]
    try:
        holder = holder_of(run)
        lines.insert(0, f"running now: {holder}" if holder else "no run is active")
        if holder:
            every = _histories(ledger, plan) if whole else histories
            lines += _stragglers(ledger, plan, every)
    except RunFolderError as failure:
        lines.insert(0, str(failure))
    if left_out := ledger.unplanned(plan):
        lines.append(f"no longer planned: {', '.join(left_out)}")
    if harmed := sum(damage.harm for damage in check_outside_trials(ledger, plan)):
        files = f"{counted(harmed, 'file')} outside trials/ {'is' if harmed == 1 else 'are'}"
        lines.append(f"{files} damaged or missing: `fsl-sweep verify {quote(str(run))}` lists them")
    say(f"{plan.title}: {plan.counted} planned")
    if left := searching(plan.proposed):
        say(one_line(f"{left} proposed so far"))
    say(", ".join(f"{number} {state}" for state, number in sorted(counts.items())))
    recorded = sum(len(plan.specs[trial].recorded_epochs) for trial in whole)
    say(one_line(_measured(ledger, plan, histories, recorded)))
    for line in lines:
        say(one_line(line))
    ended = sum(counts[outcome] for outcome in ("done", "budget", "diverged", "stopped"))
    if ended:
        so_far = "" if ended == len(plan.specs) and not left else " so far"
        say(f"report{so_far}: `{report_command(run)}`")
    return 0 if ended == len(plan.specs) and not left else 1


def _whole(ledger: "Ledger", plan: "Plan") -> Collection[str]:
    """Return trials of a large run of whose end alone it is known that nothing is lacking."""
    from fsl_sweep.orchestrator.ledger.ledger import CHECKED

    if len(plan.trials) <= CHECKED or plan.records_answers:
        return ()
    return {t for t, spec in plan.specs.items() if ledger.trial(t).whole(spec, plan.main.id)}


def _histories(
    ledger: "Ledger", plan: "Plan", leave_out: Collection[str] = ()
) -> Collection["TrialHistory"]:
    """Read each of the other trials once; in a large run, no file of all its snapshots."""
    from fsl_sweep.orchestrator.ledger.ledger import CHECKED

    main, many = plan.main.id, len(plan.trials) > CHECKED
    histories: dict[str, TrialHistory] = {}
    for planned in plan.trials:
        if planned.id not in leave_out:
            storage = ledger.trial(planned.id)
            unread = many and storage.compacted(main)
            histories[planned.id] = storage.history(planned, main, checked=not unread)
    return histories.values()


def _remarks(history: "TrialHistory", state: str) -> Iterator[str]:
    """Yield how far a trial is that has begun, why it ended, and what of it is damaged."""
    from fsl_sweep.orchestrator.cli.progress import trial_label

    label = trial_label(history.method, history.hyperparameters, history.seed, history.fold)
    begins = f"  {history.trial}  {label}"
    if history.end and history.end.reason:
        raised = "; raise `budget.seconds`" if history.stopped_early else ""
        yield f"{begins}: {state}, {history.end.reason}{raised}"
    elif state == "begun":
        reached = int(max(history.epochs, default=0))
        yield f"{begins}: {reached} of {counted(history.planned_epochs or 0, 'epoch')} recorded"
    for name in history.damaged:
        yield f"{begins}: damaged, {name}"


def _stragglers(
    ledger: "Ledger", plan: "Plan", histories: Collection["TrialHistory"]
) -> Iterator[str]:
    """Name the trials without a record for three times the median epoch of their method."""
    from fsl_sweep.orchestrator.cli.progress import trial_label
    from fsl_sweep.orchestrator.text.durations import duration

    seconds: dict[str, list[float]] = {}
    for history in histories:
        epochs = history.curves["train_seconds"] + history.curves["evaluation_seconds"]
        # Where not every epoch is measured, a record follows several.
        gaps = [after - before for before, after in pairwise([0, *history.epochs])]
        seconds.setdefault(history.method, []).extend(epochs * gaps)
    started = ledger.folder.written("plan.json") or 0.0
    for history in histories:
        begun, heard = ledger.trial(history.trial).heard() or (0.0, 0.0)
        epochs = plan.specs[history.trial].recorded_epochs
        rungs = plan.scheduler.rungs(epochs) if plan.scheduler else ()
        # Others wait: an earlier run may have begun them, or they stand at a rung. Who goes on
        # from there is begun again.
        waits = begun < started or (heard > begun and max(history.epochs) in rungs)
        if history.end is None and not waits and seconds[history.method]:
            silent, usual = time.time() - heard, median(seconds[history.method])
            if silent > _TIMES * usual:
                label = trial_label(
                    history.method, history.hyperparameters, history.seed, history.fold
                )
                yield (
                    f"  {history.trial}  {label}: lags behind, no record for {duration(silent)}; "
                    f"its method takes {duration(usual)} for one"
                )


def _state(history: "TrialHistory", ledger: "Ledger") -> str:
    """``done`` and the like; what the report does not count as done has a state of its own."""
    if history.damaged:
        return "damaged"
    if history.end is None:
        begun = len(history.epochs) or ledger.trial(history.trial).folder.size("spec.json")
        return "begun" if begun else "not begun"
    if history.stopped_early:
        return "stopped by its budget before its first snapshot"
    whole = history.complete or history.end.status in ("failed", "stopped")
    return history.end.status if whole else "not measured"


def _measured(
    ledger: "Ledger", plan: "Plan", histories: Collection["TrialHistory"], whole: int
) -> str:
    """``measured: main 12 of 12 snapshots; 5-shot 10 of 12``.

    Under the main protocol of all that are recorded, of these trials and ``whole`` of others;
    under others of those that they ask for.
    """
    total = whole + sum(len(history.epochs) for history in histories)
    main, answers = plan.main.id, plan.records_answers
    left = sum(
        len(ledger.trial(h.trial).to_measure(main, h.epochs.tolist(), answers))
        if answers
        else h.unmeasured
        for h in histories
    )
    shown = [f"{plan.main.name} {total - left} of {counted(total, 'snapshot')}"]
    for protocol in plan.protocols[1:]:
        # Here, because it loads SciPy, which takes longer than reading a thousand ends.
        from fsl_sweep.orchestrator.selection.chosen import wanted

        epochs = wanted(ledger, plan, protocol.snapshots)
        total = sum(map(len, epochs.values()))
        left = sum(
            len(ledger.trial(t).to_measure(protocol.id, e, answers)) for t, e in epochs.items()
        )
        shown.append(f"{protocol.name} {total - left} of {total}")
    return f"measured: {'; '.join(shown)}"


def verify(run: RunFolder) -> int:
    """Check every file of a run folder against its checksum.

    Lists files that are damaged, missing, links, or unknown, and what follows; changes nothing.
    """
    from fsl_sweep.orchestrator.ledger.verify import check_run

    harmed = strange = 0
    for damage in check_run(run):
        harmed, strange = harmed + damage.harm, strange + (not damage.harm)
        say(one_line(f"{damage.place}: {damage.problem}; {damage.follows}"))
    count = f"{harmed} damaged, missing or refused" if harmed else "nothing is damaged"
    beside = f"; {strange} not part of a run" if strange else ""
    say(one_line(f"{run}: {count}{beside}"))
    return 1 if harmed else 0


def prune(
    run: RunFolder,
    keep: Annotated[
        Literal["chosen", "last", "none"], typer.Option(help="The snapshots that stay.")
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say it; delete nothing.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --keep none: delete without asking.")
    ] = False,
) -> int:
    """Delete the weights of snapshots that nothing needs."""
    from contextlib import nullcontext

    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.upkeep import pruning
    from fsl_sweep.orchestrator.upkeep.recording import locked

    ledger = Ledger(run)
    ledger.planned()  # no lock is put into another folder
    asks = keep == "none" and not dry_run and not yes
    if asks:
        _check_terminal(f"{run}: nothing is deleted", pruning.LOST[keep])
    with nullcontext() if dry_run else locked(ledger):
        plan = ledger.planned()
        pruning.check_prunable(ledger, plan)
        there = {trial: ledger.trial(trial).snapshot_epochs() for trial in plan.specs}
        gone = pruning.prunable(ledger, plan, keep, beyond=True)
        states = pruning.states(ledger, plan)
        total, count = (sum(map(len, epochs.values())) for epochs in (there, gone))
        size, freed = (pruning.weight_bytes(ledger, epochs) for epochs in (there, gone))
        deleted = "would be" if dry_run or asks else "are"
        say(
            f"{count:,} of {counted(total, 'snapshot')} {deleted} deleted, which frees "
            f"{on_disk(freed)}; {total - count:,} stay ({on_disk(size - freed)}), and so does all "
            "that was measured."
        )
        for sentence in pruning.lost(ledger, plan, keep, gone) if gone else ():
            say(sentence)
        if states:
            say(
                f"The states that {counted(len(states), 'trial')} would go on from {deleted} "
                f"deleted too, {on_disk(sum(states.values()))}: with more `epochs` they are "
                "trained again from the beginning."
            )
        if asks and (gone or states) and not _agreed():
            say("Nothing is deleted.")
            return 1
        if not dry_run:
            pruning.prune(ledger, gone)
            pruning.remove_states(ledger, states)
    return 0


def _check_terminal(refusal: str, lost: str) -> None:
    """Raise UserError where nobody can be asked."""
    from fsl_sweep.orchestrator.errors import UserError

    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise UserError(
            f"{refusal}, because there is no terminal to ask on. {lost} To delete the weights all "
            "the same, add --yes; --dry-run says how many there are."
        )


def _agreed() -> bool:
    """Ask on the terminal whether to delete; the end of the input means no."""
    print("Delete them? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
