"""Arguments and options that several commands have."""

from pathlib import Path
from typing import Annotated, Any, Literal

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


Methods = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="NAME", help="Only this method takes part; repeatable."),
]
Configurations = Annotated[
    list[str] | None,
    typer.Option(
        "--configuration",
        metavar="KEY=VALUE",
        help="Only configurations with this value, or of this id, take part; repeatable.",
    ),
]
Last = Annotated[
    int | None, typer.Option(min=2, help="Rank-correlate the last K snapshots as well.")
]
Rope = Annotated[
    float | None,
    typer.Option(metavar="D", help="Difference up to which methods are equivalent, as 0.01."),
]
QUESTION: dict[str, Any] = {
    "snapshot": Snapshot,
    "hyperparameter": Hyperparameter,
    "metric": Metric,
    "protocol": ReportedUnder,
    "choose_by": ChooseBy,
    "method": Methods,
    "configuration": Configurations,
    "last": Last,
    "rope": Rope,
    "bootstrap": Bootstrap,
}
"""The parts of a question as options of a study, by their names in Python."""

FormatName = Literal["terminal", "json", "markdown", "latex", "html"]
Format = Annotated[FormatName, typer.Option("--format", help="How to write it.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to a file.")
]
