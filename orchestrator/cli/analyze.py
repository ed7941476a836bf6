"""``fsl-sweep analyze``: a command for each study, made from the table of studies.

A study is loaded when its command is asked for.
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import QUESTION, Format, Output, RunFolder, Runs
from fsl_sweep.orchestrator.cli.report import check_output, write
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName
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
    names: "Callable[[], list[str]]" = staticmethod(lambda: _names())
    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of its commands, and of the studies."""
        return [*super().list_commands(ctx), *self.names()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; that of a study is made now, or for a list only its help."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
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
    names = staticmethod(lambda: _short())


def _names() -> list[str]:
    from fsl_sweep.orchestrator.studies.catalogue import STUDIES

    return STUDIES.names()


def _short() -> list[str]:
    from fsl_sweep.orchestrator.studies.catalogue import SHORT

    return list(SHORT)


def _made(name: str, action: Callable[..., int], text: str) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, help=text)(action)
    return typer.main.get_command(app)


def _listed(name: str) -> Any:
    from fsl_sweep.orchestrator.studies.catalogue import STUDIES

    listing = next(listing for listing in STUDIES.listings() if listing.name == name)
    return _made(name, lambda: 0, listing.description or f"A plug-in of {listing.source}.")


def _command(name: str) -> Any:
    """Make the command of a study from its options and those parts of a question that it heeds."""
    from fsl_sweep.orchestrator.studies.base import Study
    from fsl_sweep.orchestrator.studies.catalogue import STUDIES

    cls = STUDIES.find(name).cls

    def action(**written: Any) -> int:
        return _study(name, written)

    parameters = [
        inspect.Parameter("run", inspect.Parameter.KEYWORD_ONLY, annotation=_places(cls)),
        *_options(cls),
        *(_parameter(key, QUESTION[key], None) for key in cls.heeds),
        _parameter("form", Format, "terminal"),
        _parameter("as_json", Json, False),
        _parameter("output", Output, None),
    ]
    if cls.figures is not Study.figures:
        parameters.append(_parameter("plot", Plot, None))
    if cls.without_run:
        parameters[0] = _parameter("run", OptionalRun, None)
    action.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    action.__annotations__ = {p.name: p.annotation for p in parameters}
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


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


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
        parameters.append(_parameter(name, Annotated[annotation, place], value))
    return parameters


def _study(name: str, written: dict[str, Any]) -> int:
    """Conduct a study, and write what it found."""
    form, output, plot = (written.pop(key, None) for key in ("form", "output", "plot"))
    form = "json" if written.pop("as_json") else form
    check_plot(plot)
    if output is not None:
        check_output(output)
    run = written.pop("run")
    options = {key: value for key, value in written.items() if value not in (None, [], ())}
    if run is None:
        finding = _without_run(name, options)
    else:
        from fsl_sweep.orchestrator.run import load_run

        finding = load_run(run).study(name, progress=_remark, **options)
    put(finding, form, output)
    if plot is not None:
        _plot(finding, plot)
    return 0 if finding.complete else 1


def _without_run(name: str, options: dict[str, Any]) -> "Finding":
    from fsl_sweep.orchestrator.studies.finding import conclude, prepared

    study, checked, _ = prepared(name, options)
    return conclude(study, checked, _remark, None)


def put(finding: "Finding", form: str, output: Path | None) -> None:
    """Write what was found in a format, to a file or to standard output."""
    from fsl_sweep.orchestrator.report.formats.terminal import show_document

    if form == "terminal" and output is None:
        show_document(finding.document)
    elif output is not None:
        write(output, finding.written(form).encode())
    else:
        sys.stdout.write(finding.written(form))


def _plot(finding: "Finding", path: Path) -> None:
    figures = [figure for drawn in finding.figures.values() for figure in drawn]
    if not figures:
        raise ConfigError("", "--plot", f"'{finding.study.name}' draws nothing of this run")
    put_figure(path, figures[0])


def _remark(text: str) -> None:
    say(text, sys.stderr)
