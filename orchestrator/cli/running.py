"""What ``fsl-sweep run`` shows: the plan of a dry run, and the progress of trials."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress, trial_label
from fsl_sweep.orchestrator.errors import UserError
from fsl_sweep.orchestrator.ledger.ledger import COME_BACK, Ledger
from fsl_sweep.orchestrator.ledger.lock import check_writable
from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
from fsl_sweep.orchestrator.planning.prepare import Prepared, opened_plan
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.formats.console import SafeConsole
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.sweep.process import Todo
from fsl_sweep.orchestrator.tensorboard import LiveView
from fsl_sweep.orchestrator.text.printed import counted, say


@contextmanager
def followed(
    ledger: Ledger,
    progress: bool,
    plan: Plan,
    pending: Sequence[str],
    todo: Mapping[str, Todo] | None,
) -> Iterator[list[SweepListener]]:
    """The TensorBoard view of a run as it goes, and what is shown of it on standard error."""
    with ExitStack() as stack:
        listeners: list[SweepListener] = []
        if todo is None:
            listeners.append(LiveView(ledger.path / "tensorboard", ledger.histories(plan)))
        if progress:
            console = SafeConsole(stderr=True)
            shown = (
                LiveProgress(plan, pending, console, todo)
                if console.is_terminal
                else PlainProgress(plan, pending, sys.stderr, todo)
            )
            listeners.append(stack.enter_context(shown))
        yield listeners


def show_plan(prepared: Prepared) -> int:
    """Print trials, cost and what is done already; then what would stop a run of them.

    Returns:
        The exit code: 2 where the folder cannot be written, data is missing or an episode cannot
        be filled, else 0.
    """
    obstacles, plan = _against_the_data(prepared)
    ledger = prepared.ledger
    ledger.check_plan(plan)
    left, asked = ledger.pending(plan), plan.ids_of(prepared.only)
    pending = {trial: spec for trial, spec in left.items() if trial in asked}
    say(f"{plan.name}: {plan.counted} of {counted(len(plan.methods), 'method')}")
    say(f"run folder: {ledger.path}")
    for number, trial in enumerate(plan.trials):
        label = trial_label(trial.method, trial.hyperparameters, trial.spec.seed, trial.fold)
        state = "to run" if trial.id in pending else "later" if trial.id in left else "done"
        say(f"  {number:4d}  {trial.id}  {state:6}  {label}")
    later = f"; not in --only: {len(left) - len(pending)}" if len(left) > len(pending) else ""
    say(f"done already: {len(plan.specs) - len(left)}; to run: {len(pending)}{later}")
    say(f"to train: {planned_work.summary(pending)}")
    if ledger.read_plan() is not None and plan.fingerprint is not None:
        seconds = planned_work.expected_seconds(plan, ledger.histories(plan), pending)
        if seconds is not None:
            expected = wording.duration(seconds)
            say(f"expected: {expected} of trial time, from the pace of those done already")
    for caution in plan.cautions:
        say(f"caution: {caution}")
    left_out = ledger.unplanned(plan)
    for name in left_out:
        say(f"no longer planned, left out of the report: {name}")
    if left_out:
        say(f"  {COME_BACK}")
    for obstacle in obstacles:
        say(f"fsl-sweep: this plan cannot run: {obstacle}", sys.stderr)
    return 2 if obstacles else 0


def _against_the_data(prepared: Prepared) -> tuple[list[UserError], Plan]:
    """What would stop a run of the plan before it trains, and the plan as far as data are known."""
    obstacles: list[UserError] = []
    plan = prepared.plan
    try:
        check_writable(prepared.ledger.path)
    except UserError as obstacle:
        obstacles.append(obstacle)
    try:
        benchmarks = prepared.benchmarks()
        cautions = (*plan.cautions, *check_feasible(plan, benchmarks))
        plan = opened_plan(replace(plan, cautions=cautions), benchmarks)
    except UserError as obstacle:
        obstacles.append(obstacle)
    return obstacles, plan
