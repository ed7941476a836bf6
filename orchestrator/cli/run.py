"""``fsl-sweep run``: plan, execute what is missing, report."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fsl_sweep.orchestrator.cli.running import followed, say_unmeasured
from fsl_sweep.orchestrator.text.printed import say

Sweep = Annotated[str, typer.Argument(help="A sweep file, or a preset's name such as quickstart.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override one value of the file; repeatable."),
]


def run(
    sweep: Sweep,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Run folder; default runs/NAME.")
    ] = None,
    overrides: Overrides = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="METHOD", help="Run this method only; repeatable."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to join; default: start one here.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; run nothing.")] = False,
    progress: Annotated[
        bool, typer.Option("--progress/--no-progress", help="Show progress.")
    ] = True,
) -> int:
    """Plan a sweep, run what is missing, and report."""
    from fsl_sweep.orchestrator.planning.prepare import prepare
    from fsl_sweep.orchestrator.sweep.execute import execute

    prepared = prepare(sweep, output, overrides or [], only or [])
    if dry_run:
        from fsl_sweep.orchestrator.cli.planned import show_plan

        return show_plan(prepared)

    following = partial(followed, prepared.ledger, progress)
    done = execute(prepared, address, following, lambda remark: say(remark, sys.stderr))
    complete = _report(prepared.ledger.path, changed=done.ran + done.measured.snapshots > 0)
    if done.measured.failed:
        say_unmeasured(done.measured)
    failed = done.failed + done.measured.failed
    return 0 if not failed and (complete or only) else 1


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
