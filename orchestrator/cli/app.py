"""The commands, their exit codes, and how errors end them.

A command imports what it needs when it runs, so that ``fsl-sweep report`` works where torch and ray
are not installed.
"""

import io
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

import fsl_sweep
from fsl_sweep.orchestrator.cli import (
    data,
    figures,
    measure,
    plugins,
    report,
    run,
    run_folder,
    tensorboard,
)
from fsl_sweep.orchestrator.cli.analyze import ShortNames, Studies
from fsl_sweep.orchestrator.errors import FslSweepError, MachineFailure, UserError, is_of_machine
from fsl_sweep.orchestrator.sweep.stopping import Stopped, signals_stop
from fsl_sweep.orchestrator.text.printed import say

OK, INCOMPLETE, MISTAKE, MACHINE, INTERRUPTED = 0, 1, 2, 3, 130

_UsageError: Any = typer.BadParameter.__base__
"""What the parser raises: its class is in click, or in newer versions in typer."""

app = typer.Typer(
    name="fsl-sweep",
    cls=ShortNames,
    help="Train grids of few-shot learners, then compare how to select among them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
datasets = typer.Typer(
    help="Benchmarks, and whether they are prepared on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(datasets, name="data")
analyses = typer.Typer(cls=Studies, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(analyses, name="analyze")


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"fsl-sweep {fsl_sweep.__version__}")
        raise typer.Exit(OK)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Options before a command."""


def invoke(arguments: list[str]) -> int:
    """Run one command and give its exit code.

    0; 1 (incomplete); 2 (a mistake); 3 (the machine failed); 130, 143 or 129 (stopped by SIGINT,
    SIGTERM or SIGHUP).
    """
    return _guarded(lambda: _parsed_and_run(arguments))


def _parsed_and_run(arguments: list[str]) -> int:
    # Not `app()`: it would turn our exceptions into its own.
    command = typer.main.get_command(app)
    try:
        with command.make_context("fsl-sweep", list(arguments)) as context:
            return command.invoke(context)
    except typer.Exit as end:  # of --help and --version
        return end.exit_code
    except _UsageError as mistake:
        mistake.show(message := io.StringIO())
        # What newer versions of typer put before the message of a choice.
        say(message.getvalue().rstrip("\n").replace(": Value error, ", ": "), sys.stderr)
        return MISTAKE


def _guarded(action: Callable[[], int]) -> int:
    """Return the exit code of an action, whose errors are printed without a traceback."""
    try:
        with signals_stop():
            return action()
    except KeyboardInterrupt as stop:
        remark = "Stopped. What was recorded is kept: run the same command again to continue."
        say(remark, sys.stderr)
        return stop.code if isinstance(stop, Stopped) else INTERRUPTED
    except FslSweepError as failure:
        say(f"fsl-sweep: {failure}", sys.stderr)
        if isinstance(failure, MachineFailure):
            return MACHINE
        return MISTAKE if isinstance(failure, UserError) else INCOMPLETE
    except BrokenPipeError:
        return OK  # the reader of the pipe that -o names has gone
    except MemoryError:
        remark = "the machine failed: there is not enough memory for this command; what was "
        say(f"fsl-sweep: {remark}recorded is intact.", sys.stderr)
        return MACHINE
    except OSError as failure:
        if not is_of_machine(failure):
            raise
        place = f"{failure.filename}: " if failure.filename else ""
        say(f"fsl-sweep: the machine failed: {place}{failure.strerror}.", sys.stderr)
        return MACHINE


for _action in (
    run.run,
    measure.measure,
    report.report,
    figures.figures,
    run_folder.status,
    run_folder.prune,
    run_folder.verify,
    run.trial,
    plugins.plugins,
    tensorboard.tensorboard,
):
    app.command()(_action)
datasets.command("list")(data.list_benchmarks)
for _action in (data.show, data.check, data.prepare, data.download, data.clear):
    datasets.command()(_action)


@analyses.callback()
def _studies() -> None:
    """Studies of a run beyond its report."""
