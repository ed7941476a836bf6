"""The command line: ``fsl-sweep``.

Each command lives in a file of its own and imports what it needs when it runs, so that
``fsl-sweep report`` works where torch and ray are not installed.
"""

import sys

import click
import typer

from fsl_sweep.orchestrator.cli import data, plugins, report, run, status, tensorboard, trial
from fsl_sweep.orchestrator.errors import FslSweepError, UserError

OK, INCOMPLETE, MISTAKE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="fsl-sweep",
    help="Train grids of few-shot learners, then compare how to select among them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("report")(report.report)
app.command("status")(status.status)
app.command("trial")(trial.trial)
app.command("plugins")(plugins.plugins)
app.command("tensorboard")(tensorboard.tensorboard)
app.add_typer(data.app, name="data")


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: list[str]) -> int:
    """Run one command and give its exit code: 0, 1 (incomplete), 2 (a mistake) or 130 (Ctrl-C)."""
    try:
        result = app(args=arguments, prog_name="fsl-sweep", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as shown:
        print(shown.format_message())
        return MISTAKE
    except click.ClickException as mistake:
        mistake.show(file=sys.stderr)
        return MISTAKE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("Stopped. What was recorded is kept: the same command goes on.", file=sys.stderr)
        return INTERRUPTED
    except UserError as mistake:
        print(f"fsl-sweep: {mistake}", file=sys.stderr)
        return MISTAKE
    except FslSweepError as failure:
        print(f"fsl-sweep: {failure}", file=sys.stderr)
        return INCOMPLETE
    except BrokenPipeError:
        sys.stderr.close()
        return OK
    return result if isinstance(result, int) else OK
