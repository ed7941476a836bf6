"""``fsl-sweep report``: the answer and all tables, from the records only."""

import gc
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fsl_sweep.orchestrator.cli.options import (
    Bootstrap,
    ChooseBy,
    Hyperparameters,
    Metric,
    ReportedUnder,
    Runs,
    Snapshots,
)
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, folder_error

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report import BenchmarksReport, Report


Format = Literal["terminal", "json", "markdown", "latex", "html"]


def report(
    runs: Runs,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = "terminal",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="All tables on the terminal, not only the answer.")
    ] = False,
    snapshot: Snapshots = None,
    hyperparameter: Hyperparameters = None,
    last: Annotated[
        int | None, typer.Option(min=2, help="Rank-correlate the last K snapshots as well.")
    ] = None,
    metric: Metric = None,
    bootstrap: Bootstrap = None,
    ensemble: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="K", help="Vote of the K best snapshots; repeatable."),
    ] = None,
    classes: Annotated[
        bool, typer.Option("--classes", help="Resample classes as well as tasks.")
    ] = False,
    benchmarks: Annotated[
        bool,
        typer.Option("--benchmarks", help="Compare strategies over the benchmarks of the runs."),
    ] = False,
    worlds: Annotated[bool, typer.Option("--worlds", hidden=True)] = False,
    protocol: ReportedUnder = None,
    choose_by: ChooseBy = None,
) -> int:
    """Say which method is better, by which strategy to choose, and what would decide it.

    From the records only: torch and Ray are not needed. Several runs are reported as one. An
    unfinished run is reported as far as complete seeds go.
    """
    # Neither imports nor records make garbage, and to look for some takes a twentieth of the time.
    gc.set_threshold(1_000_000)
    from fsl_sweep.orchestrator.replay.worlds import has_worlds
    from fsl_sweep.orchestrator.run import load_benchmarks, load_run

    if output is not None:
        _check(output)
    of_one_run = {
        "--ensemble": ensemble,
        "--classes": classes,
        "--protocol": protocol,
        "--choose-by": choose_by,
    }
    if benchmarks or worlds or has_worlds(runs):
        if wrong := [option for option, value in of_one_run.items() if value]:
            raise ConfigError("", wrong[0], "report one benchmark by itself to ask for this")
        over = load_benchmarks(runs).report(
            snapshot, hyperparameter, last=last, metric=metric, bootstrap=bootstrap
        )
        return _put(over, form, output, full)
    report = load_run(runs).report(
        snapshot,
        hyperparameter,
        last=last,
        metric=metric,
        bootstrap=bootstrap,
        classes=classes,
        protocol=protocol,
        choose_by=choose_by,
        ensembles=ensemble or (),
        at_once=full or output is not None or form != "terminal",
    )
    return _put(report, form, output, full)


def report_command(run: Path) -> str:
    """Return what to type to see a run's report."""
    return f"fsl-sweep report {shlex.quote(str(run))}"


def _put(report: "Report | BenchmarksReport", form: Format, output: Path | None, full: bool) -> int:
    """Write a report to a file, or to standard output; return the exit status."""
    from fsl_sweep.orchestrator.report import FORMATS, show

    if output is not None:
        write(output, FORMATS[form](report).encode())
    elif form == "terminal":
        show(report, full=full)
    else:
        sys.stdout.write(FORMATS[form](report))
    return 0 if report.complete else 1


def _check(path: Path) -> None:
    """Refuse a place that cannot hold a file before the report is built, which may take long."""
    from fsl_sweep.datasets.files.local_path import check_local

    check_local(path)
    if path.is_dir():
        raise RunFolderError(f"{path} is a folder; give -o the name of a file.")
    if not path.parent.is_dir():
        raise RunFolderError(f"{path} cannot be written: there is no folder {path.parent}.")


def write(path: Path, content: bytes) -> None:
    """Write to a file; what was there before stays until all of it is written.

    Raises RunFolderError or MachineFailure if it cannot be written.
    """
    from fsl_sweep.orchestrator.ledger.storage import write_whole

    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # into a pipe or a device
        else:
            write_whole(Path(os.path.realpath(path)), content)  # through a link, which stays
    except BrokenPipeError:
        raise
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure, f"{path} cannot be written: {reason}. Choose another place, or free space."
        ) from failure
