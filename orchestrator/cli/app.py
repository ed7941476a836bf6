"""The commands, their exit codes, and how errors end them.

Each command lives in a file of its own and imports what it needs when it runs, so that
``fsl-sweep report`` works where torch and ray are not installed.
"""

import functools
import io
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

import fsl_sweep
from fsl_sweep.orchestrator.cli import (
    data,
    plugins,
    report,
    run,
    status,
    tensorboard,
    trial,
    verify,
)
from fsl_sweep.orchestrator.errors import FslSweepError, MachineFailure, UserError, is_of_machine
from fsl_sweep.orchestrator.sweep.stopping import Stopped, signals_stop
from fsl_sweep.orchestrator.text.printed import say

OK, INCOMPLETE, MISTAKE, MACHINE, INTERRUPTED = 0, 1, 2, 3, 130

_UsageError: Any = typer.BadParameter.__base__
"""What the parser raises: its class is in click, or in newer versions in typer."""

app = typer.Typer(
    name="fsl-sweep",
    help="Train grids of few-shot learners, then compare how to select among them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
datasets = typer.Typer(
    help="Benchmarks, and which of them are prepared on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(datasets, name="data")


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
    try:
        code = app(args=arguments, prog_name="fsl-sweep", standalone_mode=False)
    except _UsageError as mistake:
        mistake.show(message := io.StringIO())
        say(message.getvalue().rstrip("\n"), sys.stderr)
        return MISTAKE
    except SystemExit as stop:
        code = stop.code
    return code if isinstance(code, int) else OK


def _command(parent: typer.Typer, name: str, action: Callable[..., int]) -> None:
    """Add a command that returns its exit code, and whose errors are printed without traceback."""

    @functools.wraps(action)
    def guarded(*args: object, **options: object) -> None:
        raise typer.Exit(_guarded(lambda: action(*args, **options)))

    parent.command(name)(guarded)


def _guarded(action: Callable[[], int]) -> int:
    try:
        with signals_stop():
            return action()
    except KeyboardInterrupt as stop:
        say(
            "Stopped. What was recorded is kept: run the same command again to continue.",
            sys.stderr,
        )
        return stop.code if isinstance(stop, Stopped) else INTERRUPTED
    except FslSweepError as failure:
        say(f"fsl-sweep: {failure}", sys.stderr)
        return _code_of(failure)
    except BrokenPipeError:
        return OK  # whoever read the pipe that -o names has gone
    except OSError as failure:
        if not is_of_machine(failure):
            raise
        place = f"{failure.filename}: " if failure.filename else ""
        say(f"fsl-sweep: the machine failed: {place}{failure.strerror}.", sys.stderr)
        return MACHINE


def _code_of(failure: FslSweepError) -> int:
    if isinstance(failure, MachineFailure):
        return MACHINE
    return MISTAKE if isinstance(failure, UserError) else INCOMPLETE


for _name, _action in (
    ("run", run.run),
    ("report", report.report),
    ("status", status.status),
    ("verify", verify.verify),
    ("trial", trial.trial),
    ("plugins", plugins.plugins),
    ("tensorboard", tensorboard.tensorboard),
):
    _command(app, _name, _action)
for _name, _action in (
    ("list", data.list_benchmarks),
    ("check", data.check),
    ("prepare", data.prepare),
    ("download", data.download),
):
    _command(datasets, _name, _action)
