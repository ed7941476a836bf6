"""What tasks are drawn from: the interface of class tuples, writers and attribute pairs."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData

INDICES_AT_ONCE = 1_000_000  # bounds the working memory of a draw to some tens of megabytes


class TaskDistribution(ABC):
    """What tasks are drawn from: class tuples, writers, attribute pairs.

    A subclass writes ``_check`` and ``_sample``; ``check`` and ``sample`` are what callers use.

    Attributes:
        pool: the images that its episodes index.
        examples: int64, sorted, each once: every pool index that it may draw.
        unit: what tasks are made of, in words for a person; ``size`` counts them.
        by_label: whether the classes of a task are the pool's, so that every image has a label
            that a learner can be taught.
    """

    unit: ClassVar[str] = "classes"
    by_label: ClassVar[bool] = True
    pool: ImagePool
    examples: np.ndarray

    @property
    @abstractmethod
    def classes(self) -> np.ndarray:
        """The pool's class labels that it may draw, int64, sorted, each once."""

    @property
    def size(self) -> int:
        """How many units (classes, writers, attributes) its tasks are made of."""
        return len(self.classes)

    def check(self, shape: Shape, tasks: int | None = None) -> None:
        """Whether episodes of ``shape`` can be drawn.

        Raises:
            BadData: too few classes, or a class with too few examples, with the numbers; fewer
                than one task; or ``shape`` takes all that a task has, and these tasks have nothing
                of their own.
        """
        check_number(tasks)
        self._check(definite(shape))

    def sample(self, tasks: int, shape: Shape, rng: np.random.Generator) -> Episodes:
        """``tasks`` independent episodes; examples may return from one task to the next.

        Raises:
            BadData: as ``check``.
        """
        self.check(shape, tasks)
        return self._sample(tasks, definite(shape), rng)

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of everything that its draws depend on, the pool's content included."""

    @abstractmethod
    def _check(self, shape: EpisodeShape) -> None:
        """Raises BadData where there are too few classes or examples for ``shape``."""

    @abstractmethod
    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """As ``sample``, of a shape that was checked."""


class CountedTasks(TaskDistribution):
    """Tasks that can be counted, so that each can be taken once: writers, or a fixed number."""

    @abstractmethod
    def count(self, shape: Shape) -> int:
        """How many tasks can fill an episode of ``shape``."""

    @abstractmethod
    def take(self, which: np.ndarray, shape: Shape, rng: np.random.Generator) -> Episodes:
        """An episode of each of the tasks ``which`` ``[T]``, numbers from 0 to ``count - 1``.

        Raises:
            BadData: as ``check``.
        """

    def _sample(self, tasks: int, shape: Shape, rng: np.random.Generator) -> Episodes:
        return self.take(rng.integers(0, self.count(shape), tasks), shape, rng)


class VaryingTasks(CountedTasks):
    """Tasks with classes and examples of their own, in numbers that differ, as a writer's do.

    They also give all that a task has (``VaryingShape``), in arrays padded with -1.
    """

    def check(self, shape: Shape, tasks: int | None = None) -> None:
        """As the base class; a task's classes with too few examples do not count."""
        check_number(tasks)
        self._check(shape)

    def sample(self, tasks: int, shape: Shape, rng: np.random.Generator) -> Episodes:
        """As the base class; of one shape, or padded."""
        self.check(shape, tasks)
        return self._sample(tasks, shape, rng)

    @abstractmethod
    def _check(self, shape: Shape) -> None: ...


def definite(shape: Shape) -> EpisodeShape:
    """A shape with a number for everything.

    Raises:
        BadData: the shape takes all that a task has.
    """
    if isinstance(shape, EpisodeShape):
        return shape
    asked = "way: all" if shape.way is None else "query: rest"
    raise BadData(
        f"'{asked}' takes all that a task has, but these tasks are drawn from the split's classes: "
        "give a number. It is for benchmarks whose tasks are people, such as femnist."
    )


def check_number(tasks: int | None) -> None:
    """Raises BadData where fewer than one task is asked for."""
    if tasks is not None and tasks < 1:
        raise BadData(f"{tasks} tasks are asked for; at least 1 is needed.")


def checked_examples(pool: ImagePool, examples: np.ndarray) -> np.ndarray:
    """Pool indices as int64, sorted.

    Raises:
        BadData: one is repeated, or is not in the pool.
    """
    ordered = np.sort(np.asarray(examples, dtype=np.int64))
    if np.any(np.diff(ordered) == 0) or np.any((ordered < 0) | (ordered >= len(pool))):
        raise BadData(f"Examples must be distinct and from 0 to {len(pool) - 1}.")
    return ordered
