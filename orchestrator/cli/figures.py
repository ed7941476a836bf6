"""``fsl-sweep figures``: the report's figures as files for a paper."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from fsl_sweep.orchestrator.cli.options import REPORTED, Runs, parameter, taking, written
from fsl_sweep.orchestrator.cli.report import write
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError, folder_error
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.figures.panel import Figure

Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw it, as .svg, .pdf or .png.")
]


Form = Literal["pdf", "svg", "png"]


@taking(parameter(*part) for part in REPORTED.items())
def figures(
    runs: Runs,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write into.")
    ],
    form: Annotated[Form, typer.Option("--format", help="Kind of file.")] = "pdf",
    width: Annotated[
        float,
        typer.Option(min=6, max=40, metavar="CM", help="Such as a paper's 8.5, or 17.8 for two."),
    ] = 8.5,
    **question: Any,
) -> int:
    """Write the report's figures for a paper, and print their captions.

    Each is a file of its own, named by the figure; options are those of `fsl-sweep report`.
    """
    from fsl_sweep.datasets.files.local_path import check_local
    from fsl_sweep.orchestrator.report.figures import figures as drawn
    from fsl_sweep.orchestrator.report.figures.sheet import pages, sheet
    from fsl_sweep.orchestrator.run import load_run

    # Before the report is built, which may take long.
    check_local(output)
    if output.exists() and not output.is_dir():
        raise RunFolderError(f"{output} is a file; give -o the name of a folder.")
    report = load_run(runs).report(**written(question))
    _make(output)
    for figure in [drawing for drawings in drawn.figures(report).values() for drawing in drawings]:
        for number, page in enumerate(pages(figure, width)):
            path = output / f"{figure.name}{f'-{number + 1}' if number else ''}.{form}"
            write(path, sheet(page, width).saved(form))
            say(f"{path}: {figure.caption}" if not number else str(path))
    return 0 if report.complete else 1


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise folder_error(
            failure, f"{folder} cannot be made: {reason}. Choose another place."
        ) from failure


def check_plot(path: Path | None) -> None:
    """Raise ConfigError if a figure cannot be written there, before a study that may take long."""
    if path is None:
        return
    if path.suffix[1:] not in get_args(Form):
        raise ConfigError("", "--plot", f"{path.name} ends in none of .svg, .pdf, .png")
    if not path.parent.is_dir():
        raise ConfigError("", "--plot", f"there is no folder {path.parent}")


def put_figure(path: Path, figure: "Figure") -> None:
    """Write one figure, 8.5 cm wide or with several panels 17.8, and print its caption."""
    from fsl_sweep.orchestrator.report.figures.sheet import sheet

    width = 8.5 if len(figure.panels) == 1 else 17.8
    write(path, sheet(figure, width).saved(path.suffix[1:]))
    say(f"{path}: {figure.caption}", sys.stderr)
