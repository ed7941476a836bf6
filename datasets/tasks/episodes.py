"""The shape of episodes, and a batch of episodes as index arrays."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError


@dataclass(frozen=True)
class EpisodeShape:
    """``way`` classes, each with ``shot`` support and ``query`` query examples.

    Raises:
        ConfigError: a number is not an integer of at least 1.
    """

    way: int
    shot: int
    query: int

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if type(value) is not int or value < 1:
                raise ConfigError("", f"episode.{name}", f"{value!r} is not an integer from 1 up")

    @property
    def per_class(self) -> int:
        """Return the examples of each class in an episode: k + q."""
        return self.shot + self.query


@dataclass(frozen=True)
class VaryingShape:
    """Episodes that take all that their task has, of classes, of queries or of both.

    Attributes:
        way: classes of every task, or None for all that the task has.
        shot: support examples of every class.
        query: queries of every class, or None for all that the support leaves of it.
    """

    way: int | None
    shot: int
    query: int | None


Shape = EpisodeShape | VaryingShape


@dataclass(frozen=True, eq=False)
class Episodes:
    """T episodes. Images are never copied: all arrays index a pool.

    Attributes:
        support: int64 ``[T, n, k]``, pool indices; -1 if a task has no further class.
        query: int64 ``[T, n, q]``, pool indices, disjoint from the episode's support unless that is
            fixed and queries are from all examples; -1 if there is no further class, or the class
            has no further query.
        classes: int64 ``[T, n]``, the pool's class labels, -1 where padded; of attribute pairs the
            two attributes.
    """

    support: np.ndarray
    query: np.ndarray
    classes: np.ndarray

    def __len__(self) -> int:
        return int(self.classes.shape[0])

    def __getitem__(self, tasks: slice | np.ndarray) -> "Episodes":
        return Episodes(self.support[tasks], self.query[tasks], self.classes[tasks])

    @property
    def shape(self) -> EpisodeShape:
        """Return the (largest) way, shot and query of these episodes."""
        return EpisodeShape(
            int(self.classes.shape[1]), int(self.support.shape[2]), int(self.query.shape[2])
        )

    @staticmethod
    def of(examples: np.ndarray, shot: int, classes: np.ndarray) -> "Episodes":
        """Make episodes; the first ``shot`` of ``examples`` ``[T, n, k + q]`` are the support."""
        support, query = np.split(examples, [shot], axis=2)
        return Episodes(np.ascontiguousarray(support), np.ascontiguousarray(query), classes)

    @staticmethod
    def concatenate(parts: Sequence["Episodes"]) -> "Episodes":
        """Join the tasks of all parts, in order; parts have one shape."""
        arrays = ([part.support, part.query, part.classes] for part in parts)
        return Episodes(*map(np.concatenate, zip(*arrays, strict=True)))
