"""Writer tasks: a person's own handwriting is a task, with the characters that they wrote."""

from typing import ClassVar, final

import numpy as np

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.distribution import (
    VaryingTasks,
    digest_of,
    in_chunks,
    owned_examples,
)
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData

_LEAST_WAY = 2


@final
class WriterTasks(VaryingTasks):
    """Writers uniformly, and of each one's examples a support and a query set.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 4, example 1: a
    task is a writer, who recognises the characters that they have written; ``*w1s`` is one support
    example of each character, and queries in numbers that differ from character to character.

    A writer's classes are those of which they have k + q examples (k + 1 if queries are what the
    support leaves). Writers with fewer than ``way`` of them, or than 2 if all are taken, are
    never drawn. Where ``way`` is a number, that many of the writer's classes are drawn uniformly.
    Classes and examples of a task are in random order.

    With ``kept_support`` a writer's support is the same each time, where all other examples are
    queries: one (S, Q) a writer in all of training. Shapes with a number of queries draw anew.

    Args:
        pool: the images, with their writers.
        writers: the writers to draw, in any order.
        examples: pool indices that may be drawn, all of those writers; by default every example
            of them.
        kept_support: the seed of the support that is drawn once; None draws one for each task.

    Raises:
        BadData: the pool does not say who wrote what, or an example is repeated, not in the pool,
            or by another writer.
    """

    unit: ClassVar[str] = "writers"

    def __init__(
        self,
        pool: ImagePool,
        writers: np.ndarray,
        examples: np.ndarray | None = None,
        kept_support: int | None = None,
    ) -> None:
        if pool.writers is None:
            raise BadData("Tasks of writers need a pool that says who wrote each image.")
        self.pool, self._kept_support = pool, kept_support
        self.writers = np.unique(np.asarray(writers, dtype=np.int64))
        self.examples = owned_examples(pool, pool.writers, self.writers, examples, "by a writer")
        kept_order = self.examples
        if kept_support is not None:  # of the seed and the example, not of the other writers
            draws = named_generator(kept_support, "kept support")
            kept_order = draws.permutation(len(pool))[self.examples]
        # A cell is what one writer has of one class; cells are ordered by writer.
        place = np.searchsorted(self.writers, pool.writers[self.examples])
        labels = pool.labels[self.examples]
        order = np.lexsort((kept_order, labels, place))
        self._by_cell = self.examples[order]
        cells, self._starts, self._counts = np.unique(
            np.stack([place[order], labels[order]]), axis=1, return_index=True, return_counts=True
        )
        self._cell_writer, self._cell_class = cells
        self.classes = np.unique(self._cell_class)

    @property
    def size(self) -> int:
        """Count the writers."""
        return len(self.writers)

    @property
    def members(self) -> dict[int, str]:
        """Name the writers, who have no names but numbers."""
        return {int(writer): f"writer {writer}" for writer in self.writers}

    def _check(self, shape: Shape) -> None:
        ways = self.ways(shape)
        least = shape.way or _LEAST_WAY
        if ways.max(initial=0) < least:
            raise BadData(
                f"Tasks of writers with {shape.shot} support examples and {shape.query or 'some'} "
                f"queries a class need {least} classes of {_per_class(shape)} examples by one "
                f"person, but the best of {len(self.writers)} writers has {ways.max(initial=0)}."
            )

    def count(self, shape: Shape) -> int:
        """Count the writers who have what ``shape`` asks for."""
        return len(self.able(shape))

    def take(self, which: np.ndarray, shape: Shape, rng: np.random.Generator) -> Episodes:
        """Draw an episode of each of ``which``, positions in ``able``; no two share an example."""
        self.check(shape)
        people = self.able(shape)[which]
        cells = np.flatnonzero(self._counts >= _per_class(shape))
        cells = cells[np.isin(self._cell_writer[cells], people)]
        way = shape.way or int(np.bincount(self._cell_writer[cells]).max())
        query = shape.query or int(self._counts[cells].max()) - shape.shot
        padded = EpisodeShape(way, shape.shot, query)
        kept = self._kept_support is not None and shape.query is None
        return in_chunks(
            len(people),
            way * padded.per_class,
            lambda first, last: self._some_episodes(people[first:last], cells, padded, rng, kept),
        )

    def able(self, shape: Shape) -> np.ndarray:
        """Return positions in ``writers`` of those who have what ``shape`` asks for, int64."""
        return np.flatnonzero(self.ways(shape) >= (shape.way or _LEAST_WAY))

    def ways(self, shape: Shape) -> np.ndarray:
        """Count each writer's classes with enough examples, int64 ``[len(writers)]``."""
        enough = self._counts >= _per_class(shape)
        return np.bincount(self._cell_writer[enough], minlength=len(self.writers))

    def digest(self) -> str:
        """Digest the pool's content, the writers, the examples and the kept support; hex."""
        return digest_of(
            "writer-tasks",
            pool=self.pool.fingerprint,
            writers=self.writers,
            examples=self.examples,
            **{"kept support": self._kept_support},
        )

    def _some_episodes(
        self,
        people: np.ndarray,
        cells: np.ndarray,
        padded: EpisodeShape,
        rng: np.random.Generator,
        kept: bool,
    ) -> Episodes:
        """Draw episodes of at most ``padded``; ``kept`` takes a cell's examples in their order."""
        examples = np.full((len(people), padded.way, padded.per_class), -1, dtype=np.int64)
        classes = np.full((len(people), padded.way), -1, dtype=np.int64)
        owners = self._cell_writer[cells]
        first, last = np.searchsorted(owners, people), np.searchsorted(owners, people, "right")
        task, chosen = _shuffled(first, last - first, padded.way, rng)
        slot = _ranks(task)
        chosen = cells[chosen]
        classes[task, slot] = self._cell_class[chosen]
        order = None if kept else rng
        row, drawn = _shuffled(self._starts[chosen], self._counts[chosen], padded.per_class, order)
        examples[task[row], slot[row], _ranks(row)] = self._by_cell[drawn]
        return Episodes.of(examples, padded.shot, classes)


def _per_class(shape: Shape) -> int:
    """Return how many examples a class needs."""
    return shape.shot + (shape.query or 1)


def _shuffled(
    starts: np.ndarray, counts: np.ndarray, most: int, rng: np.random.Generator | None
) -> tuple[np.ndarray, np.ndarray]:
    """Shuffle ranges ``starts[r] .. starts[r] + counts[r] - 1``, and keep ``most`` of each.

    Without a generator they keep their order.

    Returns:
        The range of each drawn number, ascending, and the number; int64.
    """
    row = np.repeat(np.arange(len(starts)), counts)
    number = np.arange(len(row)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    if rng is not None:
        number = number[np.lexsort((rng.random(len(row)), row))]
    kept = _ranks(row) < most
    return row[kept], number[kept]


def _ranks(rows: np.ndarray) -> np.ndarray:
    """Count 0, 1, 2, ... within each run of equal, ascending ``rows``."""
    return np.arange(len(rows)) - np.searchsorted(rows, rows)
