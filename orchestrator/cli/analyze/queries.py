"""``fsl-sweep analyze queries``: how many queries make the open interval shortest."""

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.analyze.led import led
from fsl_sweep.orchestrator.cli.analyze.trained_on import Root, trained_on
from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import AsJson, Hyperparameter, RunFolder, Snapshot
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.text.printed import columns, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.selection.comparing.task_sizes import TaskSizes

_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
"""Numbers of queries in the table, besides the best and those that are measured."""
_DRAWN = 10
"""Fewest tasks in the figure: with less the interval is so long that it hides the others."""


def queries(
    run: RunFolder,
    examples: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Novel examples. [those of the run's data]"),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Novel classes. [those of the run's data]"),
    ] = None,
    root: Root = None,
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> int:
    """Say how many queries make open intervals shortest, for a fixed number of novel examples.

    For each method under val / val or the first strategy that is no oracle, unless another one is
    named. Examples and classes are counted in the run's data, unless both are given. Torch and Ray
    are not needed.
    """
    from fsl_sweep.orchestrator.selection.comparing.task_sizes import task_sizes

    check_plot(plot)
    own = led(run, snapshot, hyperparameter)
    found = task_sizes(own.source, own.selected, own.strategy)
    if examples is None or classes is None:
        there = _there(run.expanduser(), root)
        examples, classes = examples or there[0], classes or there[1]
    _check_enough(examples, found[0], classes)
    most = examples / classes
    to_set = [_to_set(one, examples, most) for one in found]
    tables = [_table(one, examples, most, q) for one, q in zip(found, to_set, strict=True)]
    if as_json:
        rows = zip(found, to_set, tables, strict=True)
        say_json([_as_plain(one, examples, q, own) for one, q, own in rows])
    else:
        say("\n".join(_lines(found, examples, most, to_set, tables)))
    if plot is not None:
        _put(found, tables, plot)
    return 0 if own.run.complete else 1


def _there(run: Path, root: str | None) -> tuple[int, int]:
    """How many novel examples and classes the data of a run have. Raises RunFolderError."""
    benchmark = trained_on(run, root, "--examples and --classes")
    if benchmark.novel.unit != "classes":
        raise RunFolderError(
            f"Open tasks are made of classes, and those of '{benchmark.name}' are made of "
            f"{benchmark.novel.unit}."
        )
    return len(benchmark.novel.examples), benchmark.novel.size


def _check_enough(examples: int, one: "TaskSizes", classes: int) -> None:
    """That two tasks fit, and a task whatever its classes. Raises ConfigError."""
    needed = max(2 * one.way, classes) * (one.shot + 1)
    if examples < needed:
        problem = f"{examples:,} are too few: {one.shot}-shot tasks with one query of each class"
        raise ConfigError("", "--examples", f"{problem} take {needed:,} or more")


def _to_set(one: "TaskSizes", examples: int, most: float) -> int:
    """q* rounded up, unless it is not near where the interval is predicted to be shortest: that."""
    from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
        open_half_width,
        tasks_of_examples,
    )

    tasks = {q: tasks_of_examples(examples, one.way, one.shot, q) for q in _fitting(one, most)}
    predicted = {q: open_half_width(one.variance, n, q) for q, n in tasks.items() if n >= 2}
    shortest = min(predicted, key=predicted.__getitem__, default=1)
    rounded = _rounded(one)
    return rounded if rounded in predicted and rounded <= shortest + 1 else shortest


def _rounded(one: "TaskSizes") -> int:
    """q* rounded up; 0 where there is none."""
    best = one.variance.optimal(one.shot)
    return max(1, ceil(best)) if isfinite(best) else 0


def _fitting(one: "TaskSizes", most: float) -> range:
    """The numbers of queries that a class of ``most`` examples has."""
    return range(1, max(1, int(most) - one.shot) + 1)


def _table(one: "TaskSizes", examples: int, most: float, to_set: int) -> list[dict[str, Any]]:
    """Rows of q, tasks, and the predicted and the measured half-width.

    A class of ``most`` examples on average bounds q, but for what was measured: where classes
    differ in size, the larger ones gave its tasks.
    """
    from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
        open_half_width,
        tasks_of_examples,
    )

    measured = {m.queries: m for m in one.measured}
    wanted = {*_SHOWN, *measured, to_set}
    rows: list[dict[str, Any]] = []
    for q in sorted(wanted):
        tasks = tasks_of_examples(examples, one.way, one.shot, q)
        own = measured.get(q)
        if tasks >= 2 and (one.shot + q <= most or own):
            rows.append(
                {
                    "queries": q,
                    "tasks": tasks,
                    "predicted": open_half_width(one.variance, tasks, q),
                    "measured": own and own.half_width,
                    "measured_tasks": own and own.tasks,
                    "protocol": own and own.protocol,
                }
            )
    return rows


_HEAD = ("q", "tasks", "predicted +-", "measured +-", "on tasks")


def _lines(
    found: "Sequence[TaskSizes]",
    examples: int,
    most: float,
    to_set: Sequence[int],
    tables: Sequence[Sequence[dict[str, Any]]],
) -> list[str]:
    first = found[0]
    lines = [
        _advice(found, most, to_set),
        "",
        f"{first.strategy}, NovelGen, {first.way}-way {first.shot}-shot, {examples:,} examples; "
        "half-widths of 95 % intervals in points, of one snapshot (mean over seeds): those of "
        "`compare` are of the mean of all seeds' snapshots",
        f"A class has {most:.4g} of them on average, so that a task has at most "
        f"{_fitting(first, most)[-1]} queries of each class. What is left of a class is in no "
        "task: there may be fewer tasks.",
    ]
    if measured := {m.queries: m.protocol for one in found for m in one.measured}:
        under = ", ".join(f"q = {q} by '{measured[q]}'" for q in sorted(measured))
        lines.append(f"Measured: {under}.")
    for one, rows in zip(found, tables, strict=True):
        shown = [_HEAD, *map(_row, rows)]
        lines += ["", _best(one)]
        lines += columns(shown, 0, indent="  ")
        if one.variance.caution:
            lines.append(f"  Caution: {one.variance.caution}.")
    return lines


def _advice(found: "Sequence[TaskSizes]", most: float, to_set: Sequence[int]) -> str:
    """What to set for each method, ``2 (PN), 6 (RR)``, and why."""
    own = [*zip(found, to_set, strict=True)]
    rounded = [one.method for one, q in own if q == _rounded(one)]
    why: list[str] = []
    if rounded:
        subject = "That" if len(rounded) == len(own) else f"For {', '.join(rounded)} that"
        why.append(
            f"{subject} is q*, near which they are shortest, rounded up, because with too few "
            "queries they grow faster than with too many."
        )
    for one, q in own:
        if one.method not in rounded:
            lacking = "too few examples for its q*" if _rounded(one) else "no q*"
            last = q == _fitting(one, most)[-1]
            place = "as many as a class has" if last else "where they are predicted to be shortest"
            why.append(f"{one.method} has {lacking}: {q} is {place}.")
    shown = ", ".join(f"{q} ({one.method})" for one, q in own)
    return " ".join([f"For short open intervals set {shown} queries of each class.", *why])


def _best(one: "TaskSizes") -> str:
    best = one.variance.optimal(one.shot)
    told = f"q* = {best:.1f}" if isfinite(best) else "no q*, because A is not above 0"
    counts = ", ".join(map(str, one.queries))
    a, b = one.variance.between, one.variance.within
    return f"{one.method}: {told} (A {a:.3g}, B {b:.3g}, from tasks with q = {counts})"


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    measured, tasks = row["measured"], row["measured_tasks"]
    return (
        str(row["queries"]),
        f"{row['tasks']:,}",
        f"{100 * row['predicted']:.2f}",
        "" if measured is None else f"{100 * measured:.2f}",
        "" if tasks is None else f"{tasks:,}",
    )


def _as_plain(
    one: "TaskSizes", examples: int, to_set: int, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    best = one.variance.optimal(one.shot)
    return {
        "method": one.method,
        "snapshot_selector": one.strategy.snapshot,
        "hyperparameter_selector": one.strategy.hyperparameter,
        "way": one.way,
        "shot": one.shot,
        "examples": examples,
        "estimated_from_queries": one.queries,
        **asdict(one.variance),
        "optimal_queries": best if isfinite(best) else None,
        "queries_to_set": to_set,
        "rows": rows,
    }


def _put(
    found: "Sequence[TaskSizes]", tables: Sequence[Sequence[dict[str, Any]]], path: Path
) -> None:
    from fsl_sweep.orchestrator.report.figures.studies.queries import queries_figure

    lines = [
        (
            one.method,
            [(row["queries"], row["predicted"]) for row in rows if row["tasks"] >= _DRAWN],
            [(row["queries"], row["measured"]) for row in rows if row["protocol"]],
        )
        for one, rows in zip(found, tables, strict=True)
    ]
    put_figure(path, queries_figure(lines))
