"""``fsl-sweep analyze``: a command for each study, made from the table of studies.

A study is loaded when its command is asked for.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import (
    QUESTION,
    Format,
    Output,
    RunFolder,
    Runs,
    parameter,
    taking,
    written,
)
from fsl_sweep.orchestrator.cli.report import check_output, put_text
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
from fsl_sweep.orchestrator.studies.catalogue import SHORT, STUDIES
from fsl_sweep.orchestrator.text.printed import say

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.studies.base import Study
    from fsl_sweep.orchestrator.studies.finding import Finding

OptionalRun = Annotated[
    Path | None, typer.Argument(metavar="[RUN]", help="A run folder, to take numbers from.")
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


class Studies(TyperGroup):
    """The commands of studies beside those of the group."""

    kind = "study"
    names: Callable[[], Sequence[str]] = STUDIES.names
    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its commands, and of the studies."""
        return [*super().list_commands(ctx), *self.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; that of a study is made now, or for a list only its help."""
        if (command := super().get_command(ctx, cmd_name)) is not None:
            return command
        if cmd_name not in self.names():
            return None
        return _listed(cmd_name) if self._listing else _command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. Raises UnknownName, with the study that may be meant."""
        name, *_ = args
        if name.startswith("-") or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        raise UnknownName(self.kind, name, self.list_commands(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading a study."""
        self._listing = True
        super().format_commands(ctx, formatter)
        self._listing = False


class ShortNames(Studies):
    """The commands of the program, some studies among them."""

    kind = "command"
    names = staticmethod(lambda: SHORT)


def _made(name: str, action: Callable[..., int], text: str) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=text)(action)
    return typer.main.get_command(app)


def _listed(name: str) -> Any:
    listing = next(listing for listing in STUDIES.listings() if listing.name == name)
    return _made(name, lambda: 0, listing.description or f"A plug-in of {listing.source}.")


def _command(name: str) -> Any:
    """Make the command of a study from its options and those parts of a question that it heeds."""
    from fsl_sweep.orchestrator.studies.base import Study

    cls = STUDIES.find(name).cls
    run = parameter("run", _places(cls), inspect.Parameter.empty)
    parameters = [
        parameter("run", OptionalRun) if cls.without_run else run,
        *_options(cls),
        *(parameter(key, QUESTION[key]) for key in cls.heeds),
        parameter("form", Format, "terminal"),
        parameter("as_json", Json, False),
        parameter("output", Output),
    ]
    if cls.figures is not Study.figures:
        parameters.append(parameter("plot", Plot))

    @taking(parameters)
    def action(**options: Any) -> int:
        return _study(name, options)

    return _made(name, action, inspect.cleandoc(cls.__doc__ or ""))


def _places(cls: "type[Study]") -> Any:
    """Return what RUN may be: several runs, unless arguments follow or snapshots are needed."""
    from fsl_sweep.orchestrator.studies.base import declared

    fields = cls.Options.model_fields.values()
    alone = any("argument" in declared(field) for field in fields)
    if cls.needs - {"tasks"}:
        return RunFolder
    table = typer.Argument(metavar="RUN", help="A run folder or a table (.csv, .parquet).")
    return Annotated[Path, table] if alone else Runs


def _options(cls: "type[Study]") -> list[inspect.Parameter]:
    """Return a parameter for each option of a study; its bounds are checked by the study."""
    from fsl_sweep.orchestrator.studies.base import declared

    parameters: list[inspect.Parameter] = []
    types: dict[str, Any] = get_type_hints(cls.Options)
    for name, field in cls.Options.model_fields.items():
        extra = declared(field)
        metavar, text, default = extra.get("metavar"), field.description, field.get_default()
        if "argument" in extra:
            place: Any = typer.Argument(metavar=metavar, help=text)
        else:
            place = typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, help=text)
        if field.is_required():
            value, annotation = inspect.Parameter.empty, types[name]
        elif default in (None, []):
            value, annotation = None, types[name] | None
        else:
            value, annotation = default, types[name]
        parameters.append(parameter(name, Annotated[annotation, place], value))
    return parameters


def _study(name: str, options: dict[str, Any]) -> int:
    """Conduct a study, and write what it found."""
    from fsl_sweep.orchestrator.report.formats.terminal import show_document

    run, form, output = (options.pop(key) for key in ("run", "form", "output"))
    plot = options.pop("plot", None)
    form = "json" if options.pop("as_json") else form
    check_plot(plot)
    if output is not None:
        check_output(output)
    finding = _finding(name, run, written(options))
    if form == "terminal" and output is None:
        show_document(finding.document)
    else:
        put_text(finding.written(form), output)
    if plot is not None:
        figures = [figure for drawn in finding.figures.values() for figure in drawn]
        if not figures:
            raise ConfigError("", "--plot", f"'{name}' draws nothing of this run")
        put_figure(plot, figures[0])
    return 0 if finding.complete else 1


def _finding(name: str, run: Any, options: dict[str, Any]) -> "Finding":
    def remark(text: str) -> None:
        say(text, sys.stderr)

    if run is not None:
        from fsl_sweep.orchestrator.run import load_run

        return load_run(run).study(name, progress=remark, **options)
    from fsl_sweep.orchestrator.studies.finding import conclude, prepared

    study, checked, _ = prepared(name, options)
    return conclude(study, checked, remark, None)
