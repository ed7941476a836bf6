"""``fsl-sweep analyze queries``: how many queries make the open interval shortest."""

from collections.abc import Sequence
from dataclasses import asdict
from math import ceil, floor, inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsl_sweep.orchestrator.cli.analyze.led import led
from fsl_sweep.orchestrator.cli.figures import Plot, check_plot, put_figure
from fsl_sweep.orchestrator.cli.options import AsJson, Hyperparameter, RunFolder, Snapshot
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.text.printed import columns, say, say_json

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.run import Run
    from fsl_sweep.orchestrator.selection.comparing.task_sizes import TaskSizes

_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
"""Numbers of queries in the table, besides the best and those that are measured."""
_DRAWN = 10
"""Fewest tasks in the figure: with less the interval is so long that it hides the others."""


def queries(
    run: RunFolder,
    examples: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Novel examples. [those that open tasks used up]"),
    ] = None,
    snapshot: Snapshot = None,
    hyperparameter: Hyperparameter = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> int:
    """Say how many queries make open intervals shortest, for a fixed number of novel examples.

    For each method under val / val or the first strategy that is no oracle, unless another one is
    named. From the records only: torch and Ray are not needed.
    """
    from fsl_sweep.orchestrator.selection.comparing.task_sizes import task_sizes

    check_plot(plot)
    own = led(run, snapshot, hyperparameter)
    found = task_sizes(own.source, own.selected, own.strategy)
    count = examples or _used_up(found)
    most = _examples_of_a_class(own.run, count)
    _check_enough(examples, found[0], count / most)
    tables = [_table(one, count, most) for one in found]
    if as_json:
        say_json([_as_plain(one, count, rows) for one, rows in zip(found, tables, strict=True)])
    else:
        say("\n".join(_lines(found, count, most, tables)))
    if plot is not None:
        _put(found, tables, plot)
    return 0 if own.run.complete else 1


def _used_up(found: "Sequence[TaskSizes]") -> int:
    """The most examples that open tasks used until too few were left. Raises ConfigError."""
    used = [m.examples for one in found for m in one.measured if m.used_up]
    if not used:
        raise ConfigError(
            "",
            "--examples",
            "how many novel examples there are is not recorded; give the number, or measure tasks "
            "until they are used up with `fsl-sweep measure RUN open --without-replacement "
            "--tasks 1000000 --snapshots chosen`",
        )
    return max(used)


def _check_enough(examples: int | None, one: "TaskSizes", classes: float) -> None:
    """That two tasks fit, and a task whatever its classes. Raises ConfigError."""
    needed = round(max(2 * one.way, classes) * (one.shot + 1))
    if examples is not None and examples < needed:
        problem = f"{examples:,} are too few: {one.shot}-shot tasks with one query of each class"
        raise ConfigError("", "--examples", f"{problem} take {needed:,} or more")


def _examples_of_a_class(run: "Run", examples: int) -> float:
    """Of a novel class on average; infinite where no class tuples are recorded."""
    import numpy as np

    try:
        return examples / len(np.unique(run.class_tuples()["novel", "report"]))
    except RunFolderError:
        return inf


def _table(one: "TaskSizes", examples: int, most: float) -> list[dict[str, Any]]:
    """Rows of q, tasks, and the predicted and the measured half-width.

    A class of ``most`` examples on average bounds q, but for what was measured: where classes
    differ in size, the larger ones gave its tasks.
    """
    from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
        open_half_width,
        tasks_of_examples,
    )

    best = _whole(one, most)
    measured = {m.queries: m for m in one.measured}
    wanted = {*_SHOWN, *measured, int(best) if isfinite(best) else 1}
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
    tables: Sequence[Sequence[dict[str, Any]]],
) -> list[str]:
    first = found[0]
    lines = [
        f"For short open intervals set {_to_set(found, most)} queries of each class. That is "
        "q*, near which they are shortest, rounded up, because with too few queries they grow "
        "faster than with too many.",
        "",
        f"{first.strategy}, NovelGen, {first.way}-way {first.shot}-shot, {examples:,} examples; "
        "half-widths of 95 % intervals in points",
    ]
    if isfinite(most):
        left = max(0, int(most) - first.shot)
        lines.append(
            f"A class has {most:.4g} of them on average, so that a task has at most {left} queries "
            "of each class. What is left of a class is in no task: there may be fewer tasks."
        )
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


def _to_set(found: "Sequence[TaskSizes]", most: float) -> str:
    """``2 (PN), 6 (RR)``: what to set for each method."""
    return ", ".join(
        f"{f'{best:.0f}' if isfinite(best) else 'as many as possible'} ({one.method})"
        for one in found
        for best in [_whole(one, most)]
    )


def _whole(one: "TaskSizes", most: float) -> float:
    """q* rounded up, within what a class has; infinite where nothing bounds it."""
    best, bound = one.variance.optimal(one.shot), max(1.0, most - one.shot)
    rounded = ceil(best) if isfinite(best) else inf
    return max(1, min(rounded, floor(bound) if isfinite(bound) else inf))


def _best(one: "TaskSizes") -> str:
    best = one.variance.optimal(one.shot)
    told = f"q* = {best:.1f}" if isfinite(best) else "no q*: the more queries the better"
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


def _as_plain(one: "TaskSizes", examples: int, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
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
