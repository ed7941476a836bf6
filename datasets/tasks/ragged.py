"""Episodes that differ in shape, as groups of equal shape without any padding."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fsl_sweep.datasets.tasks.episodes import Episodes


@dataclass(frozen=True, eq=False)
class TaskGroup:
    """Tasks with equally many classes and equally many queries in all.

    Attributes:
        tasks: int64 ``[G]``, their places among the episodes.
        support: int64 ``[G, n, k]``, pool indices.
        query: int64 ``[G, m]``, pool indices, class by class.
        target: int64 ``[G, m]``, the class of each query, from 0 to n - 1.
    """

    tasks: np.ndarray
    support: np.ndarray
    query: np.ndarray
    target: np.ndarray

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def answers(self) -> tuple[int, int, int]:
        """Return tasks, queries of each and classes of each: the shape of the logits."""
        return len(self), self.query.shape[1], self.support.shape[1]

    def __getitem__(self, chosen: slice) -> "TaskGroup":
        parts = (self.tasks, self.support, self.query, self.target)
        return TaskGroup(*(part[chosen] for part in parts))


def grouped(episodes: Episodes) -> Iterator[TaskGroup]:
    """Put every task into exactly one group; all into one if nothing is padded.

    A learner sees of a group what it would see of each task on its own: no absent class can win,
    no absent query counts, and a transductive learner sees no padding.
    """
    there, queried = episodes.classes >= 0, episodes.query >= 0
    ways, queries = there.sum(axis=1), queried.sum(axis=(1, 2))
    number = np.broadcast_to((there.cumsum(axis=1) - 1)[:, :, None], queried.shape)
    for way, count in np.unique(np.stack([ways, queries], axis=1), axis=0):
        tasks = np.flatnonzero((ways == way) & (queries == count))
        size = len(tasks)
        yield TaskGroup(
            tasks=tasks,
            support=episodes.support[tasks][there[tasks]].reshape(size, way, -1),
            query=episodes.query[tasks][queried[tasks]].reshape(size, count),
            target=number[tasks][queried[tasks]].reshape(size, count),
        )
