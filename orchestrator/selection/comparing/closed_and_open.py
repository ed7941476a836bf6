"""The snapshots of two methods on tasks drawn with and without replacement: chosen once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.selection.methods import summarise
from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import measured
from fsl_sweep.orchestrator.statistics.sampling.closed_open_paired import example_uses


@dataclass(frozen=True)
class OnTasks:
    """Accuracies of two methods on common novel report tasks, mean over seeds.

    Attributes:
        planned: the protocol of the tasks; None for those of a table.
        a, b: float64 ``[T]``.
    """

    planned: PlannedProtocol | None
    a: np.ndarray
    b: np.ndarray

    @property
    def name(self) -> str:
        """Return the name of the protocol."""
        return "table" if self.planned is None else self.planned.name

    @property
    def used_up(self) -> bool:
        """Return whether tasks without replacement ended because too few examples were left."""
        return self.planned is not None and len(self.a) < self.planned.protocol.tasks.report_tasks


def closed_and_open(
    source: Source, selected: Selected, names: tuple[str, str], like: PlannedProtocol | None
) -> tuple[OnTasks | None, OnTasks | None]:
    """Return the choices of one strategy on tasks with replacement, and on tasks without.

    Each under a protocol with the ways, shots and novel classes of ``like``, which is None for a
    table: that one itself, or one with its queries, or of several the one with the most tasks. None
    where no protocol measured all choices of both methods.
    """
    if like is None:
        return _accuracies(None, selected, names), None
    closed, without = list[OnTasks](), list[OnTasks]()
    for planned, reported in on_alike_tasks(source, selected, like):
        if (tasks := _accuracies(planned, reported, names)) is not None:
            (closed if planned.protocol.tasks.replacement else without).append(tasks)

    def fit(tasks: OnTasks) -> tuple[bool, bool, int]:
        assert tasks.planned is not None
        same = tasks.planned.protocol.episode.query == like.protocol.episode.query
        return tasks.planned == like, same, len(tasks.a)

    return max(closed, key=fit, default=None), max(without, key=fit, default=None)


def on_alike_tasks(
    source: Source, selected: Selected, like: PlannedProtocol | None
) -> Iterator[tuple[PlannedProtocol, Selected]]:
    """Yield the same choices under each protocol with the ways, shots and classes of ``like``.

    Those of a table have none.
    """
    main = source.protocol()
    for planned in source.protocols():
        if like is not None and _alike(planned, like):
            yield planned, measured(selected, source.histories(planned, main, selected.trials))


def reuse_of(closed: OnTasks | None, without: OnTasks | None) -> float:
    """Return how often the closed tasks use each example, at most; 0 where it is not known.

    Tasks without replacement that ended for want of examples say how many there are at least.
    """
    if closed is None or without is None or closed.planned is None or without.planned is None:
        return 0.0
    episode, other = closed.planned.protocol.episode, without.planned.protocol.episode
    way, shot, query, rest = episode.way, episode.shot, episode.query, other.query
    # Tasks of all classes or of all examples of a writer have no number of them.
    if isinstance(way, str) or isinstance(query, str) or isinstance(rest, str):
        return 0.0
    examples = len(without.a) * way * (shot + rest)
    return example_uses(len(closed.a), way, shot, query, examples) if without.used_up else 0.0


def _alike(*both: PlannedProtocol) -> bool:
    first, second = (planned.protocol for planned in both)
    episodes = [(p.episode.way, p.episode.shot, p.novel) for p in (first, second)]
    return episodes[0] == episodes[1]


def _accuracies(
    planned: PlannedProtocol | None, reported: Selected, names: tuple[str, str]
) -> OnTasks | None:
    tables = {cell.method: cell.common_tasks() for cell in summarise(reported)}
    a, b = (tables.get(name) for name in names)
    return None if a is None or b is None or len(a) != len(b) else OnTasks(planned, a, b)
