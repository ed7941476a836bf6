"""``fsl-sweep report``: the answer and all tables, from the records only."""

import gc
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fsl_sweep.orchestrator.cli.options import (
    REPORTED,
    Format,
    FormatName,
    Output,
    Runs,
    parameter,
    taking,
    written,
)
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, folder_error

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report import BenchmarksReport, Report
    from fsl_sweep.orchestrator.run import Run


@taking(parameter(*part) for part in REPORTED.items())
def report(
    runs: Runs,
    form: Format = "terminal",
    output: Output = None,
    full: Annotated[
        bool, typer.Option("--full", help="All tables on the terminal, not only the answer.")
    ] = False,
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
    studies: Annotated[
        str | None,
        typer.Option("--with", metavar="STUDY,...", help="Also show these studies: compare, ..."),
    ] = None,
    table: Annotated[
        Literal["main"] | None,
        typer.Option(
            "--table", metavar="main", help="Only methods x benchmarks, as papers print it."
        ),
    ] = None,
    pairs: Annotated[
        Literal["best", "all"],
        typer.Option(help="Of more than 20 methods: pairs with the best, or all."),
    ] = "best",
    **question: Any,
) -> int:
    """Say which method is better, by which strategy to choose, and what would decide it.

    From the records only: torch and Ray are not needed. Several runs are reported as one. An
    unfinished run is reported as far as complete seeds go.
    """
    # Neither imports nor records make garbage, and to look for some takes a twentieth of the time.
    gc.set_threshold(1_000_000)
    from fsl_sweep.orchestrator.replay.benchmarks import has_several_benchmarks
    from fsl_sweep.orchestrator.run import load_benchmarks, load_run

    if output is not None:
        check_output(output)
    if table and (form == "json" or studies):
        problem = "JSON has the numbers of all tables" if form == "json" else "it shows no studies"
        raise ConfigError("", "--table", f"{problem}: leave --table or the other option out")
    question = written(question) | {"every_pair": pairs == "all"}
    if benchmarks or worlds or has_several_benchmarks(runs):
        of_one_run = {"ensemble": ensemble, "classes": classes, "with": studies}
        parts = ("protocol", "choose_by", "method", "configuration")
        of_one_run |= {part: question.get(part) for part in parts}
        if wrong := [key for key, value in of_one_run.items() if value]:
            option = f"--{wrong[0].replace('_', '-')}"
            raise ConfigError("", option, "report one benchmark by itself to ask for this")
        return _put(load_benchmarks(runs).report(**question), form, output, full, table)
    run = load_run(runs)
    content = run.report(
        **question,
        classes=classes,
        ensembles=ensemble or (),
        at_once=form != "terminal" or any(map(bool, (full, output, studies, table))),
    )
    if studies is None:
        return _put(content, form, output, full, table)
    put_text(_with(run, content, studies, question, form), output)
    return 0 if content.complete else 1


def _with(
    run: "Run", content: "Report", studies: str, question: Mapping[str, Any], form: FormatName
) -> str:
    """Return the report with the studies of the same question as further sections."""
    from fsl_sweep.orchestrator.studies.catalogue import STUDIES
    from fsl_sweep.orchestrator.studies.finding import written_with

    findings = [
        run.study(name, **{key: value for key, value in question.items() if key in heeds})
        for name in filter(None, (part.strip() for part in studies.split(",")))
        for heeds in [STUDIES.find(name).cls.heeds]
    ]
    return written_with(form, content, findings)


def report_command(run: Path) -> str:
    """Return what to type to see a run's report."""
    return f"fsl-sweep report {shlex.quote(str(run))}"


def _put(
    report: "Report | BenchmarksReport",
    form: FormatName,
    output: Path | None,
    full: bool,
    table: str | None,
) -> int:
    """Write a report to a file, or to standard output; return the exit status."""
    from fsl_sweep.orchestrator.report import FORMATS, main_table, show

    if table is not None:
        put_text(main_table(report, form), output)
    elif form == "terminal" and output is None:
        show(report, full=full)
    else:
        put_text(FORMATS[form](report), output)
    return 0 if report.complete else 1


def put_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output."""
    if output is not None:
        write(output, text.encode())
    else:
        sys.stdout.write(text)


def check_output(path: Path) -> None:
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
    from fsl_sweep.orchestrator.ledger.storage import write_complete

    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # into a pipe or a device
        else:
            write_complete(Path(os.path.realpath(path)), content)  # through a link, which stays
    except BrokenPipeError:
        raise
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure, f"{path} cannot be written: {reason}. Choose another place, or free space."
        ) from failure
