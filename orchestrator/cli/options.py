"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="A run folder or a table (.csv, .parquet), or several."),
]
Snapshots = Annotated[
    list[str] | None, typer.Option("--snapshot", help="Snapshot selector to compare; repeatable.")
]
Hyperparameters = Annotated[
    list[str] | None,
    typer.Option("--hyperparameter", help="Hyperparameter selector to compare; repeatable."),
]
Snapshot = Annotated[str | None, typer.Option("--snapshot", help="Snapshot selector.")]
Hyperparameter = Annotated[
    str | None, typer.Option("--hyperparameter", help="Hyperparameter selector.")
]
Metric = Annotated[
    str | None, typer.Option(help="Compare methods by mixture(w) of BaseGen and NovelGen.")
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        min=0, help="Resamples that repeat the selection; 0 for none. [large runs: one strategy]"
    ),
]
ReportedUnder = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Report chosen snapshots under this protocol. [main]"),
]
ChooseBy = Annotated[
    str | None, typer.Option(metavar="NAME", help="Choose by this protocol. [main]")
]


def only(name: str | None) -> list[str] | None:
    """The one selector that an option names; None for the usual ones."""
    return None if name is None else [name]


AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
