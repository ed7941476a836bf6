"""``fsl-sweep report``: the selector comparison, from the records only."""

import enum
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="A run folder or a table (.csv, .parquet), or several."),
]


class Format(enum.StrEnum):
    """How a report can be written."""

    TERMINAL = "terminal"
    JSON = "json"
    MARKDOWN = "markdown"
    LATEX = "latex"
    HTML = "html"


def report(
    runs: Runs,
    form: Annotated[Format, typer.Option("--format", help="How to write it.")] = Format.TERMINAL,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
    ] = None,
    snapshot: Annotated[
        list[str] | None, typer.Option(help="Snapshot selector to compare; repeatable.")
    ] = None,
    hyperparameter: Annotated[
        list[str] | None, typer.Option(help="Hyperparameter selector to compare; repeatable.")
    ] = None,
    last: Annotated[
        int | None, typer.Option(min=2, help="Rank-correlate the last K snapshots as well.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Compare methods by mixture(w) of BaseGen and NovelGen.")
    ] = None,
    bootstrap: Annotated[
        int | None,
        typer.Option(min=0, help="Resamples that repeat the selection; 0 for none. [small runs]"),
    ] = None,
    classes: Annotated[
        bool, typer.Option("--classes", help="Resample classes as well as tasks.")
    ] = False,
) -> int:
    """Compare methods and selection strategies.

    From the records only: torch and Ray are not needed. Several runs are reported as one.
    """
    resampling = {"metric": metric, "bootstrap": bootstrap, "classes": classes}
    complete = show(runs, form, output, snapshot, hyperparameter, last, **resampling)
    return 0 if complete else 1


def show(
    folder: Path | list[Path],
    form: Format = Format.TERMINAL,
    output: Path | None = None,
    snapshot: list[str] | None = None,
    hyperparameter: list[str] | None = None,
    last: int | None = None,
    **options: Any,
) -> bool:
    """Print or write a run's report; give whether every planned trial is done.

    ``options`` are further arguments of ``Run.report``.
    """
    from fsl_sweep.orchestrator.cli.output import check_output, write_output
    from fsl_sweep.orchestrator.report import FORMATS
    from fsl_sweep.orchestrator.report.formats.terminal import show as show_on_terminal
    from fsl_sweep.orchestrator.run import load_run

    if output is not None:
        check_output(output)
    content = load_run(folder).report(snapshot, hyperparameter, last=last, **options)
    if output is not None:
        write_output(output, FORMATS[form](content))
    elif form is Format.TERMINAL:
        show_on_terminal(content)
    else:
        sys.stdout.write(FORMATS[form](content))
    return content.completeness.complete
