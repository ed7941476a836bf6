"""``fsl-sweep status``: what is planned, done, running and failed, and why each failed."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.text.printed import counted, one_line, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.records.measures import TrialHistory
    from fsl_sweep.orchestrator.records.plan import Plan

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def status(run: RunFolder) -> int:
    """Say what is done, running and failed, and why."""
    from fsl_sweep.orchestrator.cli.progress import trial_label
    from fsl_sweep.orchestrator.cli.report import report_command
    from fsl_sweep.orchestrator.errors import RunFolderError
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.ledger.lock import holder_of
    from fsl_sweep.orchestrator.ledger.verify import check_outside_trials

    ledger = Ledger(run)
    plan = ledger.planned()
    counts: Counter[str] = Counter()
    lines: list[str] = []
    histories = {h.trial: h for h in ledger.histories(plan)}.values()
    for history in histories:
        label = trial_label(history.method, history.hyperparameters, history.seed, history.fold)
        state = _state(history)
        counts[state] += 1
        if history.end and history.end.reason:
            lines.append(f"  {history.trial}  {label}: {state}, {history.end.reason}")
        elif state == "begun":
            reached = f"{counted(int(history.epochs[-1]), 'epoch')} recorded"
            lines.append(f"  {history.trial}  {label}: {reached}")
        lines += [f"  {history.trial}  {label}: damaged, {name}" for name in history.damaged]
    try:
        holder = holder_of(run)
        lines.insert(0, f"running now: {holder}" if holder else "no run is active")
    except RunFolderError as failure:
        lines.insert(0, str(failure))
    if left_out := ledger.unplanned(plan):
        lines.append(f"no longer planned: {', '.join(left_out)}")
    if harmed := sum(found.harm for found in check_outside_trials(ledger, plan)):
        files = f"{counted(harmed, 'file')} outside trials/ {'is' if harmed == 1 else 'are'}"
        lines.append(f"{files} damaged or missing: `fsl-sweep verify {run}` lists them")
    say(f"{plan.name}: {plan.counted} planned")
    say(", ".join(f"{number} {state}" for state, number in sorted(counts.items())))
    say(one_line(_measured(ledger, plan, histories)))
    for line in lines:
        say(one_line(line))
    ended = counts["done"] + counts["budget"] == len(plan.specs)
    if counts["done"] + counts["budget"]:
        say(f"report{'' if ended else ' so far'}: `{report_command(run)}`")
    return 0 if ended else 1


def _state(history: "TrialHistory") -> str:
    """``done`` and the like; what the report does not count as done has a state of its own."""
    if history.damaged:
        return "damaged"
    if history.end is None:
        return "begun" if len(history.epochs) else "not begun"
    whole = history.complete or history.end.status == "failed"
    return history.end.status if whole else "not measured"


def _measured(ledger: "Ledger", plan: "Plan", histories: Collection["TrialHistory"]) -> str:
    """``measured: main 12 of 12 snapshots; 5-shot 10 of 12``.

    Under the main protocol of all that are recorded; under others of those that they ask for.
    """
    from fsl_sweep.orchestrator.sweep.remaining import wanted

    total = sum(len(history.epochs) for history in histories)
    main, answers = plan.main.id, plan.records_answers
    left = sum(len(ledger.trial(t).to_measure(main, answers=answers)) for t in plan.specs)
    shown = [f"{plan.main.name} {total - left} of {counted(total, 'snapshot')}"]
    for one in plan.protocols[1:]:
        asked = wanted(ledger, plan, one.snapshots)
        total = sum(map(len, asked.values()))
        left = sum(len(ledger.trial(t).to_measure(one.id, e, answers)) for t, e in asked.items())
        shown.append(f"{one.name} {total - left} of {total}")
    return f"measured: {'; '.join(shown)}"
