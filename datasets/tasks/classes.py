"""Task distributions, and the common tasks on which every snapshot is measured."""

from typing import TYPE_CHECKING, final

import numpy as np

from fsl_sweep.datasets.files.digests import array_digest, canonical_digest
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import distinct
from fsl_sweep.datasets.tasks.distribution import (
    INDICES_AT_ONCE,
    TaskDistribution,
    VaryingTasks,
    checked_examples,
)
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    pass


@final
class ClassTasks(TaskDistribution):
    """Uniform class tuples without repetition, and uniform examples of each class.

    The predominant way to make tasks ("Two Sides of Meta-Learning Evaluation: In vs. Out of
    Distribution", section 2): n distinct classes, then for each k + q distinct examples, of which
    the first k are the support.

    Args:
        pool: the images.
        classes: class labels to draw from, in any order.
        examples: pool indices that may be drawn, all of those classes; by default every example
            of them.
        note: a sentence that ends the message of `check` where a class has too few examples.

    Raises:
        BadData: a class is not in the pool or has no example; an example is repeated or is of
            another class.
    """

    def __init__(
        self,
        pool: ImagePool,
        classes: np.ndarray,
        examples: np.ndarray | None = None,
        note: str = "",
    ) -> None:
        self.pool, self._note = pool, note
        self._classes = np.unique(np.asarray(classes, dtype=np.int64))
        if examples is None:
            examples = np.flatnonzero(np.isin(pool.labels, self._classes))
        self.examples = checked_examples(pool, examples)
        self._check_members()
        labels = pool.labels[self.examples]
        self._by_class = self.examples[np.argsort(labels, kind="stable")]
        self._counts = np.bincount(labels, minlength=len(pool.class_names))[self._classes]
        self._starts = np.cumsum(self._counts) - self._counts

    @property
    def classes(self) -> np.ndarray:
        """The class labels it draws from, int64, sorted."""
        return self._classes

    @property
    def counts(self) -> np.ndarray:
        """How many examples each of ``classes`` has, int64 ``[len(classes)]``."""
        return self._counts

    def check_ways(self, way: int) -> None:
        """Raises BadData where a task of ``way`` classes needs more than there are."""
        if len(self._classes) < way:
            raise BadData(
                f"{way}-way tasks need {way} classes, but only {len(self._classes)} are there."
            )

    def sample_without_replacement(
        self, shape: EpisodeShape, rng: np.random.Generator, tasks: int | None = None
    ) -> Episodes:
        """Episodes of which no two share an example.

        Each task's classes are uniform among those that still have k + q unused examples, until
        fewer than n such classes are left or ``tasks`` are drawn. Open intervals are computed on
        such tasks.

        Raises:
            BadData: as ``check``.
        """
        self.check(shape, tasks)
        left = self._counts // shape.per_class
        rows = []
        while (tasks is None or len(rows) < tasks) and np.sum(left > 0) >= shape.way:
            row = rng.permutation(np.flatnonzero(left))[: shape.way]
            left[row] -= 1
            rows.append(row)
        which = np.stack(rows)  # (T, n)
        examples = np.empty((*which.shape, shape.per_class), dtype=np.int64)
        for position in range(len(self._classes)):
            uses = which == position
            start, count = self._starts[position], self._counts[position]
            order = rng.permutation(self._by_class[start : start + count])
            needed = int(uses.sum()) * shape.per_class
            examples[uses] = order[:needed].reshape(-1, shape.per_class)
        return Episodes.of(examples, shape.shot, self._classes[which])

    def digest(self) -> str:
        """Hex digest of the pool's content, the classes and the examples."""
        return canonical_digest(
            {
                "kind": "class-tasks",
                "pool": self.pool.fingerprint,
                "classes": array_digest(self._classes),
                "examples": array_digest(self.examples),
            }
        )

    def draw(
        self, tasks: int, way: int, per_class: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Class tuples and their examples, support and query not yet split.

        The caller has made sure that there are enough of both (``check``).

        Returns:
            positions in ``classes``, int64 ``[T, way]``, and pool indices, int64
            ``[T, way, per_class]``.
        """
        which = distinct(rng, np.full(tasks, len(self._classes)), way)  # (T, n)
        return which, self.draw_examples(which, per_class, rng)

    def draw_examples(
        self, which: np.ndarray, per_class: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Distinct examples of given classes, every choice with the same probability.

        Args:
            which: int64 ``[T, way]``, positions in ``classes``.
            per_class: examples of each class, at most as many as it has.
            rng: the source of randomness.

        Returns:
            Pool indices, int64 ``[T, way, per_class]``.
        """
        flat = which.reshape(-1)
        places = distinct(rng, self._counts[flat], per_class)  # (T n, k + q)
        examples = self._by_class[self._starts[flat, None] + places]
        return examples.reshape(*which.shape, per_class)

    def _check(self, shape: EpisodeShape) -> None:
        self.check_ways(shape.way)
        fewest = int(np.argmin(self._counts))
        if self._counts[fewest] < shape.per_class:
            name = self.pool.class_names[self._classes[fewest]]
            queries = counted(shape.query, "query", "queries")
            short = int(np.sum(self._counts < shape.per_class))
            raise BadData(
                f"{shape.shot}-shot tasks with {queries} need {shape.per_class} "
                f"examples a class, but class '{name}' has {self._counts[fewest]}"
                + (f" (and {short - 1} more classes have too few)." if short > 1 else ".")
                + (f" {self._note}" if self._note else "")
            )

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        chunk = max(1, INDICES_AT_ONCE // (shape.way * shape.per_class))
        sizes = [min(chunk, tasks - done) for done in range(0, tasks, chunk)]
        draws = (self.draw(size, shape.way, shape.per_class, rng) for size in sizes)
        return Episodes.concatenate(
            [Episodes.of(examples, shape.shot, self._classes[which]) for which, examples in draws]
        )

    def _check_members(self) -> None:
        known, classes = len(self.pool.class_names), self._classes
        if len(classes) == 0:
            raise BadData("A task distribution needs at least one class.")
        if np.any((classes < 0) | (classes >= known)):
            raise BadData(f"Class labels must be from 0 to {known - 1}.")
        labels = self.pool.labels[self.examples]
        if not np.isin(labels, classes).all():
            raise BadData("Some examples are of a class that the task distribution does not have.")
        empty = np.setdiff1d(classes, labels)
        if len(empty):
            raise BadData(f"Class '{self.pool.class_names[empty[0]]}' has no examples.")


def check_common(distribution: TaskDistribution, tasks: int, shape: Shape) -> None:
    """Whether so many common tasks of ``shape`` can be drawn.

    Raises:
        BadData: too few classes or examples, or fewer writers than tasks.
    """
    distribution.check(shape)
    most = most_tasks(distribution, shape)
    if most is not None and tasks > most:
        raise BadData(
            f"{tasks} tasks are asked for, and none may come twice, but there are only {most} "
            f"{distribution.unit} with what a task needs. Set evaluation.selection_tasks and "
            f"evaluation.report_tasks to {most} at most; with {most // 2} each the two sets share "
            f"no {distribution.unit}."
        )


def most_tasks(distribution: TaskDistribution, shape: Shape) -> int | None:
    """How many tasks there are to measure on, of which none is taken twice; None: any number."""
    return distribution.count(shape) if isinstance(distribution, VaryingTasks) else None
