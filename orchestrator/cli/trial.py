"""``fsl-sweep trial``: one trial in this process, without Ray."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fsl_sweep.orchestrator.cli.run import Overrides, Sweep
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.records.plan import Plan
    from fsl_sweep.orchestrator.sweep.listener import SweepListener


def trial(
    sweep: Sweep,
    index: Annotated[int, typer.Option("--index", min=0, help="Its number in the plan, from 0.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Run folder; default runs/NAME.")
    ] = None,
    overrides: Overrides = None,
) -> int:
    """Run one trial in this process, without Ray."""
    from fsl_sweep.orchestrator.cli.progress import PlainProgress, trial_label
    from fsl_sweep.orchestrator.planning.prepare import prepare
    from fsl_sweep.orchestrator.sweep.execute import execute_one

    @contextmanager
    def shown(plan: "Plan", pending: Sequence[str], _: object) -> "Iterator[list[SweepListener]]":
        with PlainProgress(plan, pending, sys.stdout) as lines:
            yield [lines]

    prepared = prepare(sweep, output, overrides or [])
    end = execute_one(prepared, index, shown)
    one = prepared.plan.trials[index]
    label = trial_label(one.method, one.hyperparameters, one.spec.seed, one.fold)
    say(f"{label}: {end.status}{': ' + end.reason if end.reason else ''}")
    return 0 if end.status in ("done", "budget") else 1
