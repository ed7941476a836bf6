"""What ``fsl-sweep run`` shows: the plan of a dry run, and the progress of trials."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress, trial_label
from fsl_sweep.orchestrator.errors import UserError
from fsl_sweep.orchestrator.ledger.ledger import COME_BACK, Ledger
from fsl_sweep.orchestrator.ledger.lock import check_writable
from fsl_sweep.orchestrator.planning import work as planned_work
from fsl_sweep.orchestrator.planning.feasibility import check_feasible
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.formats.console import SafeConsole
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.tensorboard import LiveView
from fsl_sweep.orchestrator.text.printed import counted, say


@contextmanager
def followed(
    ledger: Ledger, progress: bool, plan: Plan, pending: Sequence[str]
) -> Iterator[list[SweepListener]]:
    """The TensorBoard view of a run as it goes, and what is shown of it on standard error."""
    with ExitStack() as stack:
        view = LiveView(ledger.path / "tensorboard", ledger.histories(plan))
        listeners: list[SweepListener] = [view]
        if progress:
            console = SafeConsole(stderr=True)
            shown = (
                LiveProgress(plan, list(pending), console)
                if console.is_terminal
                else PlainProgress(plan, list(pending), sys.stderr)
            )
            listeners.append(stack.enter_context(shown))
        yield listeners


def show_plan(prepared: Prepared) -> int:
    """Print trials, cost and what is done already; then what would stop a run of them.

    Returns:
        The exit code: 2 where the folder cannot be written, data is missing or an episode cannot
        be filled, else 0.
    """
    plan = prepared.plan
    prepared.ledger.check_plan(plan)
    left, asked = prepared.ledger.pending(plan), plan.ids_of(prepared.only)
    pending = {trial: spec for trial, spec in left.items() if trial in asked}
    say(f"{plan.name}: {plan.counted} of {counted(len(plan.methods), 'method')}")
    say(f"run folder: {prepared.ledger.path}")
    for number, trial in enumerate(plan.trials):
        label = trial_label(trial.method, trial.hyperparameters, trial.spec.seed, trial.fold)
        state = "to run" if trial.id in pending else "later" if trial.id in left else "done"
        say(f"  {number:4d}  {trial.id}  {state:6}  {label}")
    later = f"; not in --only: {len(left) - len(pending)}" if len(left) > len(pending) else ""
    say(f"done already: {len(plan.specs) - len(left)}; to run: {len(pending)}{later}")
    say(f"to train: {planned_work.summary(pending)}")
    seconds = planned_work.expected_seconds(plan, prepared.ledger.histories(plan), pending)
    if seconds is not None:
        expected = wording.duration(seconds)
        say(f"expected: {expected} of trial time, from the pace of those done already")
    for caution in plan.cautions:
        say(f"caution: {caution}")
    left_out = prepared.ledger.unplanned(plan)
    for name in left_out:
        say(f"no longer planned, left out of the report: {name}")
    if left_out:
        say(f"  {COME_BACK}")
    obstacles, cautions = _against_the_data(prepared)
    for caution in cautions:
        say(f"caution: {caution}")
    for obstacle in obstacles:
        say(f"fsl-sweep: this plan cannot run: {obstacle}", sys.stderr)
    return 2 if obstacles else 0


def _against_the_data(prepared: Prepared) -> tuple[list[UserError], tuple[str, ...]]:
    """What would stop a run of the plan before it trains, and the cautions about its data."""
    obstacles: list[UserError] = []
    cautions: tuple[str, ...] = ()
    try:
        check_writable(prepared.ledger.path)
    except UserError as obstacle:
        obstacles.append(obstacle)
    try:
        cautions = check_feasible(prepared.plan, prepared.benchmark())
    except UserError as obstacle:
        obstacles.append(obstacle)
    return obstacles, cautions
