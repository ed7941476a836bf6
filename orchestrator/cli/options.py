"""Arguments and options that several commands have."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

Command = TypeVar("Command", bound=Callable[..., int])

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="A run folder or a table (.csv, .parquet), or several."),
]
Address = Annotated[str | None, typer.Option(help="Ray cluster to join; default: start one here.")]
ShowProgress = Annotated[bool, typer.Option("--progress/--no-progress", help="Show progress.")]

QUESTION: dict[str, Any] = {
    "snapshot": Annotated[str | None, typer.Option("--snapshot", help="Snapshot selector.")],
    "hyperparameter": Annotated[
        str | None, typer.Option("--hyperparameter", help="Hyperparameter selector.")
    ],
    "metric": Annotated[
        str | None, typer.Option(help="Compare methods by mixture(w) of BaseGen and NovelGen.")
    ],
    "protocol": Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Report chosen snapshots under this protocol. [main]"),
    ],
    "choose_by": Annotated[
        str | None, typer.Option(metavar="NAME", help="Choose by this protocol. [main]")
    ],
    "method": Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Only this method takes part; repeatable."),
    ],
    "configuration": Annotated[
        list[str] | None,
        typer.Option(
            "--configuration",
            metavar="KEY=VALUE",
            help="Only configurations with this value, or of this id, take part; repeatable.",
        ),
    ],
    "last": Annotated[
        int | None, typer.Option(min=2, help="Rank-correlate the last K snapshots as well.")
    ],
    "rope": Annotated[
        float | None,
        typer.Option(metavar="D", help="Difference up to which methods are equivalent, as 0.01."),
    ],
    "bootstrap": Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Resamples that repeat the selection; 0 for none. [large runs: one strategy]",
        ),
    ],
}
"""The parts of a question as options of a study, by their names in Python."""

REPORTED = QUESTION | {
    "snapshot": Annotated[
        list[str] | None,
        typer.Option("--snapshot", help="Snapshot selector to compare, or all; repeatable."),
    ],
    "hyperparameter": Annotated[
        list[str] | None,
        typer.Option(
            "--hyperparameter", help="Hyperparameter selector to compare, or all; repeatable."
        ),
    ],
}
"""The same as options of a report, which compares strategies."""

FormatName = Literal["terminal", "json", "markdown", "latex", "html"]
Format = Annotated[FormatName, typer.Option("--format", help="How to write it.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
]


def parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """Return a parameter as the parser reads it from a command."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def taking(parameters: Iterable[inspect.Parameter]) -> Callable[[Command], Command]:
    """Let the parser see these parameters in place of the ``**`` one of a command."""

    def decorate(command: Command) -> Command:
        written = inspect.signature(command).parameters.values()
        seen = [each for each in written if each.kind is not inspect.Parameter.VAR_KEYWORD]
        seen += parameters
        command.__signature__ = inspect.Signature(seen)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in seen}
        return command

    return decorate


def written(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were written; the parser gives the others as None, or as a list."""
    return {key: value for key, value in options.items() if value not in (None, [], ())}
