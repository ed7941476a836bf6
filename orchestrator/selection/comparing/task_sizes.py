"""What the recorded tasks of chosen snapshots say about how many queries a task should have."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.errors import RunFolderError
from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.selection.comparing.closed_and_open import on_alike_tasks
from fsl_sweep.orchestrator.selection.results import Selected, Strategy
from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import open_interval
from fsl_sweep.orchestrator.statistics.sampling.task_sizing import (
    TaskVariance,
    variance_of_tasks,
    variance_over_queries,
)


@dataclass(frozen=True)
class MeasuredOpen:
    """The open interval of a method's snapshots, without a common example in two tasks.

    Attributes:
        protocol: its name.
        queries, tasks: q and T.
        half_width: of one snapshot, mean over seeds.
    """

    protocol: str
    queries: int
    tasks: int
    half_width: float


@dataclass(frozen=True)
class TaskSizes:
    """One method under one strategy.

    Attributes:
        way, shot: of all its tasks.
        queries: the numbers of queries that the estimate is from.
        variance: A and B, mean over seeds.
        measured: its open intervals.
    """

    method: str
    strategy: Strategy
    way: int
    shot: int
    queries: tuple[int, ...]
    variance: TaskVariance
    measured: tuple[MeasuredOpen, ...]


def task_sizes(
    source: Source, selected: Selected, strategy: Strategy, like: PlannedProtocol | None = None
) -> tuple[TaskSizes, ...]:
    """Size the tasks of each method that is complete under a strategy, by equal ways and shots.

    With one number of queries, A and B follow from the binomial variance of queries; with several
    from how the variance falls with their number.

    Raises:
        RunFolderError: there are no tasks of one size, or all tasks of a snapshot came out alike.
    """
    measured: dict[str, list[_Measured]] = defaultdict(list)
    for planned, reported in on_alike_tasks(source, selected, like or source.protocol()):
        for method in selected.methods:
            tables = [choice.novel_tasks for choice in reported.cell(method, strategy)]
            if tables and min(map(len, tables)) > 1:
                measured[method].append((planned, tables))
    if not measured:
        raise RunFolderError(
            "No method has its trials done with the accuracy of each task recorded: give a run "
            "folder that is complete."
        )
    return tuple(_sizes(method, strategy, tasks) for method, tasks in measured.items())


_Measured = tuple[PlannedProtocol, list[np.ndarray]]
"""A protocol, and the accuracies of a method on its tasks, for each seed."""


def _sizes(method: str, strategy: Strategy, measured: list[_Measured]) -> TaskSizes:
    episodes = [planned.protocol.episode for planned, _ in measured]
    way, shot, counts = episodes[0].way, episodes[0].shot, [e.query for e in episodes]
    queries = [count for count in counts if isinstance(count, int)]
    if isinstance(way, str) or len(queries) < len(counts):
        raise RunFolderError(
            "Tasks take all classes or examples that a person has: they have no common number of "
            "queries to choose."
        )
    several = len(set(queries)) > 1
    try:
        by_seed = [
            variance_over_queries([*zip(queries, tables, strict=True)])
            if several
            else variance_of_tasks(np.concatenate(tables), way, queries[0])
            for tables in zip(*(tables for _, tables in measured), strict=True)
        ]
    except ValueError as failure:
        raise RunFolderError(f"The tasks of {method} cannot be sized: {failure}") from None
    variance = TaskVariance(
        between=float(np.mean([variance.between for variance in by_seed])),
        within=float(np.mean([variance.within for variance in by_seed])),
        caution=next((variance.caution for variance in by_seed if variance.caution), None),
    )
    opened = tuple(
        _open(planned, tables, count)
        for (planned, tables), count in zip(measured, queries, strict=True)
        if not planned.protocol.tasks.replacement
    )
    return TaskSizes(method, strategy, way, shot, tuple(sorted(set(queries))), variance, opened)


def _open(planned: PlannedProtocol, tables: list[np.ndarray], queries: int) -> MeasuredOpen:
    intervals = [open_interval(table) for table in tables]
    half_width = float(np.mean([(interval.high - interval.low) / 2 for interval in intervals]))
    return MeasuredOpen(planned.name, queries, intervals[0].n, half_width)
