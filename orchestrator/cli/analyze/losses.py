"""``fsl-sweep analyze losses``: the objectives of ML and FIX-ML, computed from snapshots."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import AsJson, RunFolder
from fsl_sweep.orchestrator.text.printed import columns, counted, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.run.losses import Losses


def losses(
    run: RunFolder,
    snapshots: Annotated[
        Literal["all", "chosen", "last"], typer.Option(help="Which snapshots.")
    ] = "last",
    tasks: Annotated[int, typer.Option(min=2, help="Tasks of each objective.")] = 1000,
    way: Annotated[int | None, typer.Option(min=2, metavar="N", help="[as trained]")] = None,
    shot: Annotated[int | None, typer.Option(min=1, metavar="K", help="[as trained]")] = None,
    query: Annotated[int | None, typer.Option(min=1, metavar="Q", help="[as trained]")] = None,
    queries_from: Annotated[
        Literal["others", "all"] | None,
        typer.Option(help="Of FIX-ML: examples that are not its support, or all. [as trained]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the tasks.")] = 0,
    root: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the run's data are now.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> int:
    """The losses of snapshots on base training tasks, with random and with fixed support.

    Without augmentation, in evaluation mode. The fixed support is that of the trial, or of its
    FIX-ML counterpart in this run.
    """
    from fsl_sweep.orchestrator.report.figures.studies.losses import losses_figure
    from fsl_sweep.orchestrator.run import losses as study

    check_plot(plot)
    asked = study.LossStudy(snapshots, tasks, way, shot, query, queries_from, seed, root)
    measured = study.losses(run, asked)
    known = next(measured)
    _say_left_out(known)
    for known in measured:
        last = known.found[-1]
        done = counted(sum(one.planned is last.planned for one in known.found), "snapshot")
        which = ", ".join(filter(None, (*last.group[:2], f"seed {last.planned.spec.seed}")))
        say(f"{which}: {done} measured", sys.stderr)
    if as_json:
        say_json(known.to_plain())
    else:
        say("\n".join(_lines(known.means, tasks)))
    if plot is not None:
        put_figure(plot, losses_figure(known.means))
    return 1 if known.pending else 0


def _say_left_out(known: "Losses") -> None:
    for method in known.left_out:
        say(f"{method} is left out: it is not trained by a loss on tasks.", sys.stderr)
    if known.pending:
        count = counted(known.pending, "trial")
        say(f"{count} must still be trained and take no part: `fsl-sweep run`.", sys.stderr)


def _lines(means: Sequence[Mapping[str, Any]], tasks: int) -> Iterator[str]:
    """A table with a row for each method, configuration and epoch."""
    yield (
        f"Loss of snapshots on {counted(tasks, 'base training task')} without augmentation, nats: "
        "mean over seeds, +- 95 % over tasks."
    )
    shown = f"{_row(means[0])[2]}: {means[0]['episode']} tasks"
    yield f"ML: random support. FIX-ML: fixed support. {shown}."
    head = ("method", "config", "episode", "epoch", "trials", "ML", "FIX-ML")
    rows = [head, *map(_row, means)]
    kept = [at for at in range(len(head)) if any(row[at] for row in rows[1:])]
    words = sum(at < 3 for at in kept)
    yield from columns([[row[at] for at in kept] for row in rows], words, indent="  ")
    if any(row["fix_ml"] is None for row in means):
        yield (
            "-: no fixed support: no FIX-ML trial of this learner, seed and number of shots is in "
            "the run, or several that differ in more than the objective."
        )
    if len({row["episode"] for row in means}) > 1:
        yield "Losses on tasks of different shapes cannot be compared; --way, --query make one."


def _row(row: Mapping[str, Any]) -> tuple[str, ...]:
    from fsl_sweep.orchestrator.report.figures.studies.losses import OBJECTIVES

    cells = [str(row[key]) for key in ("method", "hyperparameters", "episode", "epoch", "trials")]
    cells[2] = re.sub(r"-(\w)\w* ?", r"\1", cells[2])
    for key in OBJECTIVES:
        one = row[key]
        cells.append(f"{one['mean']:.4f} +- {(one['high'] - one['low']) / 2:.4f}" if one else "-")
    return tuple(cells)
