"""``fsl-sweep run``: plan, execute what is missing, report."""

from pathlib import Path
from typing import Annotated

import typer

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
        list[str] | None, typer.Option("--only", metavar="METHOD", help="Run this method alone.")
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
    from fsl_sweep.orchestrator.cli import running

    prepared = running.prepare(sweep, output, overrides or [], only or [])
    if dry_run:
        return running.show_plan(prepared)
    failed, report = running.execute(prepared, address=address, progress=progress)
    from fsl_sweep.orchestrator.report.terminal import show

    show(report)
    return 0 if not failed and (report.completeness.complete or only) else 1
