"""``fsl-sweep status``: what is planned, done, running and failed, and why each failed."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from fsl_sweep.orchestrator.text.printed import counted, one_line, say

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def status(run: RunFolder) -> int:
    """Say what is done, running and failed, and why."""
    from fsl_sweep.orchestrator.cli.progress import trial_label
    from fsl_sweep.orchestrator.errors import RunFolderError
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.ledger.lock import holder_of
    from fsl_sweep.orchestrator.ledger.verify import check_outside_trials

    ledger = Ledger(run)
    plan = ledger.planned()
    counts: Counter[str] = Counter()
    lines: list[str] = []
    for history in {h.trial: h for h in ledger.histories(plan)}.values():
        label = trial_label(history.method, history.hyperparameters, history.seed, history.fold)
        begun = len(history.epochs) > 0
        state = history.end.status if history.end else "begun" if begun else "not begun"
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
    for line in lines:
        say(one_line(line))
    return 0 if counts["done"] + counts["budget"] == len(plan.specs) else 1
