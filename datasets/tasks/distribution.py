"""What tasks are drawn from: the interface of class tuples, writers and attribute pairs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from fsl_sweep.datasets.files.digests import array_digest, canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData

INDICES_AT_ONCE = 1_000_000  # some tens of megabytes


class TaskDistribution(ABC):
    """What tasks are drawn from: class tuples, writers, attribute pairs.

    A subclass writes ``_check`` and ``_sample``; ``check`` and ``sample`` are what callers use.

    Attributes:
        pool: the images that its episodes index.
        examples: int64, sorted, each once: every pool index that it may draw.
        unit: what tasks are made of, for messages; ``size`` counts them.
        by_label: whether the classes of a task are the pool's, so that every image has a label
            that a learner can be taught.
        classes: the pool's class labels that it may draw, int64, sorted, each once.
    """

    unit: ClassVar[str] = "classes"
    by_label: ClassVar[bool] = True
    pool: ImagePool
    examples: np.ndarray
    classes: np.ndarray

    @property
    def size(self) -> int:
        """Count the units (classes, writers, attributes) that its tasks are made of."""
        return len(self.classes)

    @property
    def members(self) -> dict[int, str]:
        """Name the units that its tasks are made of, by their numbers in the pool."""
        return {int(label): self.pool.class_names[label] for label in self.classes}

    def check(self, shape: Shape, tasks: int | None = None) -> None:
        """Check that episodes of ``shape`` can be drawn.

        Raises:
            BadData: too few classes, or a class with too few examples, with the numbers; fewer
                than one task; or ``shape`` takes all that a task has, and these tasks have nothing
                of their own.
        """
        if tasks is not None and tasks < 1:
            raise BadData(f"{tasks} tasks are asked for; at least 1 is needed.")
        self._check(self._admitted(shape))

    def sample(self, tasks: int, shape: Shape, rng: np.random.Generator) -> Episodes:
        """Draw ``tasks`` independent episodes; examples may return. Raises BadData as ``check``."""
        self.check(shape, tasks)
        return self._sample(tasks, self._admitted(shape), rng)

    def image_digests(self) -> Iterator[str]:
        """Digest the content of each of its ``examples``, hex; every image is read."""
        return (array_digest(self.pool.images[example]) for example in self.examples)

    @abstractmethod
    def digest(self) -> str:
        """Digest everything that its draws depend on, the pool's content included; hex."""

    @abstractmethod
    def _check(self, shape: Any) -> None:
        """Raise BadData if there are too few classes or examples for ``shape``."""

    @abstractmethod
    def _sample(self, tasks: int, shape: Any, rng: np.random.Generator) -> Episodes:
        """Draw as ``sample``, of a shape that was checked."""

    def _admitted(self, shape: Shape) -> Shape:
        return definite(shape)


class CountedTasks(TaskDistribution):
    """Tasks that can be counted, so that each can be taken once: writers, or a fixed number."""

    @abstractmethod
    def count(self, shape: Shape) -> int:
        """Count the tasks that can fill an episode of ``shape``."""

    @abstractmethod
    def take(self, which: np.ndarray, shape: Shape, rng: np.random.Generator) -> Episodes:
        """Draw an episode of each of ``which`` ``[T]``, 0 to ``count - 1``. Raises as ``check``."""

    def _sample(self, tasks: int, shape: Shape, rng: np.random.Generator) -> Episodes:
        return self.take(rng.integers(0, self.count(shape), tasks), shape, rng)


class VaryingTasks(CountedTasks):
    """Tasks with classes and examples of their own, in numbers that differ, as a writer's do.

    They also give all that a task has (``VaryingShape``), in arrays padded with -1.
    """

    def _admitted(self, shape: Shape) -> Shape:
        return shape


def definite(shape: Shape) -> EpisodeShape:
    """Return a shape with only numbers. Raises BadData if it takes all that a task has."""
    if isinstance(shape, EpisodeShape):
        return shape
    option = "way: all" if shape.way is None else "query: rest"
    raise BadData(
        f"'{option}' takes all that a task has, but these tasks are drawn from the split's "
        "classes: give a number. Only benchmarks whose tasks are people, such as femnist, allow it."
    )


def in_chunks(tasks: int, indices: int, draw: Callable[[int, int], Episodes]) -> Episodes:
    """Draw ``tasks`` episodes of ``indices`` numbers each, in parts to bound the memory.

    ``draw`` is given the first task of a part and the first that is not in it.
    """
    chunk = max(1, INDICES_AT_ONCE // indices)
    return Episodes.concatenate(
        [draw(first, min(first + chunk, tasks)) for first in range(0, tasks, chunk)]
    )


def digest_of(kind: str, **parts: Any) -> str:
    """Digest a kind of tasks and what its draws depend on: arrays and JSON values; hex."""
    values = {
        key: array_digest(part) if isinstance(part, np.ndarray) else part
        for key, part in parts.items()
    }
    return canonical_digest({"kind": kind, **values})


def checked_examples(pool: ImagePool, examples: np.ndarray) -> np.ndarray:
    """Sort pool indices, as int64. Raises BadData if one is repeated or not in the pool."""
    ordered = np.sort(np.asarray(examples, dtype=np.int64))
    if np.any(np.diff(ordered) == 0) or np.any((ordered < 0) | (ordered >= len(pool))):
        raise BadData(f"Examples must be distinct and from 0 to {len(pool) - 1}.")
    return ordered


def owned_examples(
    pool: ImagePool, owners: np.ndarray, units: np.ndarray, examples: np.ndarray | None, of: str
) -> np.ndarray:
    """Sort pool indices, by default all whose owner is among ``units``, as int64.

    ``owners`` ``[len(pool)]`` has each example's class or writer, and ``of`` is "of a class" or
    "by a writer". Raises BadData as `checked_examples`, or if an example has another owner.
    """
    if examples is None:
        return np.flatnonzero(np.isin(owners, units))
    examples = checked_examples(pool, examples)
    if not np.isin(owners[examples], units).all():
        raise BadData(f"Some examples are {of} that the task distribution does not have.")
    return examples
