"""What tasks are drawn from: the interface of class tuples, writers and attribute pairs."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from fsl_sweep.datasets.episodes import Episodes, EpisodeShape, VaryingShape
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.orchestrator.errors import BadData


class TaskDistribution(ABC):
    """What tasks are drawn from: class tuples, writers, attribute pairs.

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

    @abstractmethod
    def check(self, shape: EpisodeShape, tasks: int | None = None) -> None:
        """Whether episodes of ``shape`` can be drawn.

        Raises:
            BadData: too few classes, or a class with too few examples, with the numbers; or
                fewer than one task is asked for.
        """

    @abstractmethod
    def sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """``tasks`` independent episodes; examples may return from one task to the next.

        Raises:
            BadData: as ``check``.
        """

    @abstractmethod
    def digest(self) -> str:
        """Hex digest of everything that its draws depend on, the pool's content included."""


class CountedTasks(TaskDistribution):
    """Tasks that can be counted, so that each can be taken once: writers, or a fixed number."""

    @abstractmethod
    def count(self, shape: EpisodeShape) -> int:
        """How many tasks can fill an episode of ``shape``."""

    @abstractmethod
    def take(self, which: np.ndarray, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """An episode of each of the tasks ``which`` ``[T]``, numbers from 0 to ``count - 1``.

        Raises:
            BadData: as ``check``.
        """


class VaryingTasks(CountedTasks):
    """Tasks that bring classes and examples of their own, in numbers that differ, as a writer does.

    They can be asked for all that a task has (``VaryingShape``), in arrays padded with -1, as well
    as for episodes of one shape.
    """

    @abstractmethod
    def check(self, shape: EpisodeShape | VaryingShape, tasks: int | None = None) -> None:
        """As the base class; of a task's classes those count that have enough examples."""

    @abstractmethod
    def sample(
        self, tasks: int, shape: EpisodeShape | VaryingShape, rng: np.random.Generator
    ) -> Episodes:
        """As the base class; of one shape, or padded."""

    @abstractmethod
    def count(self, shape: EpisodeShape | VaryingShape) -> int:
        """As the base class."""

    @abstractmethod
    def take(
        self, which: np.ndarray, shape: EpisodeShape | VaryingShape, rng: np.random.Generator
    ) -> Episodes:
        """As the base class; of one shape, or padded."""


def check_tasks(distribution: TaskDistribution, shape: EpisodeShape | VaryingShape) -> None:
    """Whether episodes of ``shape`` can be drawn.

    Raises:
        BadData: too few classes or examples; or a shape that varies is asked of a distribution
            whose tasks are drawn, and do not bring anything of their own.
    """
    if isinstance(distribution, VaryingTasks):
        distribution.check(shape)
        return
    if not isinstance(shape, EpisodeShape):
        raise _nothing_to_take_all_of(shape)
    distribution.check(shape)


def sample_tasks(
    distribution: TaskDistribution,
    tasks: int,
    shape: EpisodeShape | VaryingShape,
    rng: np.random.Generator,
) -> Episodes:
    """``tasks`` independent episodes; see ``TaskDistribution.sample``.

    Raises:
        BadData: as ``check_tasks``.
    """
    if isinstance(distribution, VaryingTasks):
        return distribution.sample(tasks, shape, rng)
    if isinstance(shape, EpisodeShape):
        return distribution.sample(tasks, shape, rng)
    raise _nothing_to_take_all_of(shape)


def _nothing_to_take_all_of(shape: VaryingShape) -> BadData:
    asked = "way: all" if shape.way is None else "query: rest"
    return BadData(
        f"'{asked}' takes all that a task has, but these tasks are drawn from the split's classes: "
        "give a number. It is for benchmarks whose tasks are people, such as femnist."
    )
