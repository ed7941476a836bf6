"""``fsl-sweep run``: plan, execute what is missing, report; and ``trial``, without Ray."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.cli.options import Address, ShowProgress
from fsl_sweep.orchestrator.text.printed import counted, say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.ledger.ledger import Ledger
    from fsl_sweep.orchestrator.records.plan import Plan
    from fsl_sweep.orchestrator.sweep.execute import Executed
    from fsl_sweep.orchestrator.sweep.listener import SweepListener
    from fsl_sweep.orchestrator.upkeep.remaining import Todo

Sweep = Annotated[str, typer.Argument(help="A sweep file, or a preset's name such as quickstart.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value of the file; repeatable."),
]
Folder = Annotated[
    Path | None, typer.Option("-o", "--output", help="Run folder; default runs/NAME.")
]
Laptop = Annotated[
    bool | None,
    typer.Option(
        "--laptop/--no-laptop",
        help="Run the file's small variant; by default where data are missing.",
        show_default=False,
    ),
]


def run(
    sweep: Sweep,
    output: Folder = None,
    overrides: Overrides = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="METHOD", help="Run this method only; repeatable."),
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option(
            metavar="failed|diverged|ID",
            help="Run these trials again, from the beginning; repeatable. SWEEP may be a run.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Stop tidily after this time, such as 3h50m."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--complete", help="Train what a scheduler stopped, too.")
    ] = False,
    address: Address = None,
    laptop: Laptop = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; run nothing.")] = False,
    progress: ShowProgress = True,
) -> int:
    """Plan a sweep, run what is missing, and report."""
    from fsl_sweep.orchestrator.planning.variant import prepare_variant
    from fsl_sweep.orchestrator.sweep.execute import execute

    limit = _limit(until)
    if address is not None:  # a cluster's user wants all of it, unless they say otherwise
        laptop = bool(laptop)
    again = retry or []
    prepared = prepare_variant(sweep, output, overrides or [], only or [], laptop, _remark, again)
    if dry_run:
        from fsl_sweep.orchestrator.cli.planned import show_plan

        return show_plan(prepared, everything)

    following = partial(followed, prepared.ledger, progress)
    done = execute(prepared, address, following, _remark, until=limit, complete=everything)
    complete = _report(prepared.ledger.path, changed=done.ran + done.measured > 0)
    if done.unmeasured:
        say_unmeasured(done)
    failed = done.failed + done.unmeasured + done.stopped
    return 0 if not failed and (complete or only) else 1


def _limit(until: str | None) -> float | None:
    """Return the seconds of ``--until``. Raises ConfigError."""
    from fsl_sweep.orchestrator.errors import ConfigError
    from fsl_sweep.orchestrator.text.durations import seconds_of

    try:
        return None if until is None else seconds_of(until)
    except ValueError as failure:
        raise ConfigError("", "--until", str(failure)) from None


def trial(
    sweep: Sweep,
    index: Annotated[int, typer.Option("--index", min=0, help="Its number in the plan, from 0.")],
    output: Folder = None,
    overrides: Overrides = None,
    laptop: Laptop = None,
) -> int:
    """Run one trial in this process, without Ray."""
    from fsl_sweep.orchestrator.cli.progress import PlainProgress, SnapshotSize, trial_label
    from fsl_sweep.orchestrator.planning.variant import prepare_variant
    from fsl_sweep.orchestrator.sweep.execute import execute_one

    @contextmanager
    def shown(plan: "Plan", pending: Sequence[str], _: object) -> "Iterator[list[SweepListener]]":
        with PlainProgress(plan, pending, sys.stdout) as lines:
            yield [lines, SnapshotSize(prepared.ledger, plan)]

    prepared = prepare_variant(sweep, output, overrides or [], laptop=laptop, notify=_remark)
    end = execute_one(prepared, index, shown)
    planned = prepared.plan.trials[index]
    label = trial_label(planned.method, planned.hyperparameters, planned.spec.seed, planned.fold)
    say(f"{label}: {end.status}{': ' + end.reason if end.reason else ''}")
    return 1 if end.status == "failed" else 0


def _remark(text: str) -> None:
    say(text, sys.stderr)


@contextmanager
def followed(
    ledger: "Ledger",
    progress: bool,
    plan: "Plan",
    pending: Sequence[str],
    todo: "Mapping[str, Todo] | None",
) -> "Iterator[list[SweepListener]]":
    """Follow a run with the TensorBoard view and, on standard error, its progress."""
    from fsl_sweep.orchestrator.cli.progress import LiveProgress, PlainProgress, SnapshotSize
    from fsl_sweep.orchestrator.tensorboard import LiveView
    from fsl_sweep.orchestrator.text.console import SafeConsole

    with ExitStack() as stack:
        listeners: list[SweepListener] = []
        if todo is None:
            listeners.append(LiveView(ledger.path / "tensorboard", ledger.histories(plan)))
        if progress:
            console = SafeConsole(stderr=True)
            left = {trial: plan.specs[trial] for trial in pending} if todo is None else {}
            resumed = ledger.resumed(left)
            shown = (
                LiveProgress(plan, pending, console, todo, resumed)
                if console.is_terminal
                else PlainProgress(plan, pending, sys.stderr, todo, resumed)
            )
            listeners.append(stack.enter_context(shown))
        if todo is None:
            listeners.append(SnapshotSize(ledger, plan))
        yield listeners


def say_unmeasured(done: "Executed") -> None:
    """Say on standard error why snapshots could not be measured."""
    reasons = "; ".join(done.reasons) or "no reason is known"
    many = counted(done.unmeasured, "snapshot")
    say(f"fsl-sweep: {many} could not be measured: {reasons}", sys.stderr)


def _report(folder: Path, changed: bool) -> bool:
    """Show the report of a run, and rebuild its TensorBoard view if it changed.

    Returns:
        Whether every planned trial is done.
    """
    from fsl_sweep.orchestrator.cli.report import report_command
    from fsl_sweep.orchestrator.report.formats.terminal import show
    from fsl_sweep.orchestrator.run import load_run
    from fsl_sweep.orchestrator.tensorboard import rebuild

    run = load_run(folder)
    report = run.report()
    if changed:
        rebuild(run.path / "tensorboard", run.histories, report.selected)
    show(report, command=report_command(folder))
    return report.completeness.complete
