"""``fsl-sweep trial``: one trial in this process, without Ray."""

from pathlib import Path
from typing import Annotated

import typer

from fsl_sweep.orchestrator.cli.run import Overrides, Sweep


def trial(
    sweep: Sweep,
    index: Annotated[int, typer.Option("--index", min=0, help="Its number in the plan, from 0.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Run folder; default runs/NAME.")
    ] = None,
    overrides: Overrides = None,
) -> int:
    """Run one trial in this process, without Ray."""
    from fsl_sweep.orchestrator.cli import running

    prepared = running.prepare(sweep, output, overrides or [], [])
    end = running.execute_one(prepared, index)
    return 0 if end.status in ("done", "budget") else 1
