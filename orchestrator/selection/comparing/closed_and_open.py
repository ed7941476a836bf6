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
        """Of the protocol."""
        return "table" if self.planned is None else self.planned.name

    @property
    def used_up(self) -> bool:
        """Whether tasks without replacement ended because too few examples were left."""
        return self.planned is not None and len(self.a) < self.planned.protocol.tasks.report_tasks


def closed_and_open(
    source: Source, selected: Selected, names: tuple[str, str], like: PlannedProtocol | None
) -> tuple[OnTasks | None, OnTasks | None]:
    """The choices of one strategy on tasks with replacement, and on tasks without.

    Each under a protocol with the ways, shots and novel classes of ``like``, which is None for a
    table: that one itself, or one with its queries, or of several the one with the most tasks. None
    where no protocol measured all choices of both methods.
    """
    if like is None:
        return _accuracies(None, selected, names), None
    found: dict[bool, list[OnTasks]] = {True: [], False: []}
    for one, reported in on_alike_tasks(source, selected, like):
        if (own := _accuracies(one, reported, names)) is not None:
            found[one.protocol.tasks.replacement].append(own)

    def fit(one: OnTasks) -> tuple[bool, bool, int]:
        assert one.planned is not None
        same = one.planned.protocol.episode.query == like.protocol.episode.query
        return one.planned == like, same, len(one.a)

    closed, without = (max(found[kind], key=fit, default=None) for kind in (True, False))
    return closed, without


def on_alike_tasks(
    source: Source, selected: Selected, like: PlannedProtocol | None
) -> Iterator[tuple[PlannedProtocol, Selected]]:
    """The same choices under each protocol with the ways, shots and novel classes of ``like``.

    Those of a table have none.
    """
    main = source.protocol()
    for one in source.protocols():
        if like is not None and _alike(one, like):
            yield one, measured(selected, source.histories(one, main, selected.trials))


def reuse_of(closed: OnTasks | None, without: OnTasks | None) -> float:
    """How often the closed tasks use each example, at most; 0 where it is not known.

    Tasks without replacement that ended for want of examples say how many there are at least.
    """
    if closed is None or without is None or not without.used_up:
        return 0.0
    both = [one.planned.protocol.episode for one in (closed, without) if one.planned]
    (way, shot, query), (other_way, other_shot, other_query) = (
        (one.way, one.shot, one.query) for one in both
    )
    if isinstance(way, str) or isinstance(query, str):
        return 0.0
    if isinstance(other_way, str) or isinstance(other_query, str):
        return 0.0
    examples = len(without.a) * other_way * (other_shot + other_query)
    return example_uses(len(closed.a), way, shot, query, examples)


def _alike(*both: PlannedProtocol) -> bool:
    one, other = (
        (own.episode.way, own.episode.shot, own.novel)
        for own in (planned.protocol for planned in both)
    )
    return one == other


def _accuracies(
    planned: PlannedProtocol | None, reported: Selected, names: tuple[str, str]
) -> OnTasks | None:
    tables = {one.method: one.common_tasks() for one in summarise(reported)}
    a, b = (tables.get(name) for name in names)
    return None if a is None or b is None or len(a) != len(b) else OnTasks(planned, a, b)
