"""Class tuples, and how many tasks there are to measure on."""

from typing import final

import numpy as np

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import distinct
from fsl_sweep.datasets.tasks.distribution import (
    TaskDistribution,
    VaryingTasks,
    digest_of,
    in_chunks,
    owned_examples,
)
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted


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
        note: a sentence that ends the message of `check` about too few examples of a class.

    Attributes:
        counts: how many examples each of ``classes`` has, int64 ``[len(classes)]``.

    Raises:
        BadData: an example is repeated, not in the pool, or of another class.
    """

    def __init__(
        self,
        pool: ImagePool,
        classes: np.ndarray,
        examples: np.ndarray | None = None,
        note: str = "",
    ) -> None:
        self.pool, self._note = pool, note
        self.classes = np.unique(np.asarray(classes, dtype=np.int64))
        self.examples = owned_examples(pool, pool.labels, self.classes, examples, "of a class")
        labels = pool.labels[self.examples]
        self._by_class = self.examples[np.argsort(labels, kind="stable")]
        self.counts = np.bincount(labels, minlength=len(pool.class_names))[self.classes]
        self._starts = np.cumsum(self.counts) - self.counts

    @property
    def fewest(self) -> tuple[str, int]:
        """Return the name of a class with the fewest examples, and how many it has."""
        position = int(np.argmin(self.counts))
        return self.pool.class_names[self.classes[position]], int(self.counts[position])

    def check_ways(self, way: int) -> None:
        """Raise BadData if there are fewer than ``way`` classes."""
        if self.size < way:
            raise BadData(f"{way}-way tasks need {way} classes, but only {self.size} are there.")

    def sample_without_replacement(
        self, shape: EpisodeShape, rng: np.random.Generator, tasks: int | None = None
    ) -> Episodes:
        """Draw episodes of which no two share an example.

        Each task's classes are uniform among those that still have k + q unused examples, until
        fewer than n such classes are left or ``tasks`` are drawn. Open intervals are computed on
        such tasks. Raises BadData as ``check``.
        """
        self.check(shape, tasks)
        left = self.counts // shape.per_class
        rows = []
        while (tasks is None or len(rows) < tasks) and np.sum(left > 0) >= shape.way:
            row = rng.permutation(np.flatnonzero(left))[: shape.way]
            left[row] -= 1
            rows.append(row)
        which = np.stack(rows)  # (T, n)
        examples = np.empty((*which.shape, shape.per_class), dtype=np.int64)
        for position, (start, count) in enumerate(zip(self._starts, self.counts, strict=True)):
            uses = which == position
            order = rng.permutation(self._by_class[start : start + count])
            examples[uses] = order[: uses.sum() * shape.per_class].reshape(-1, shape.per_class)
        return Episodes.of(examples, shape.shot, self.classes[which])

    def digest(self) -> str:
        """Digest the pool's content, the classes and the examples; hex."""
        return digest_of(
            "class-tasks", pool=self.pool.fingerprint, classes=self.classes, examples=self.examples
        )

    def draw(
        self, tasks: int, way: int, per_class: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw class tuples and their examples, support and query not yet split.

        The caller has made sure that there are enough of both (``check``).

        Returns:
            Positions in ``classes``, int64 ``[T, way]``, and pool indices, int64
            ``[T, way, per_class]``.
        """
        which = distinct(rng, np.full(tasks, self.size), way)
        return which, self.draw_examples(which, per_class, rng)

    def draw_examples(
        self, which: np.ndarray, per_class: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw distinct examples of the classes at the positions ``which``, of any shape.

        Every choice has the same probability. Pool indices, int64 ``[*which.shape, per_class]``.
        """
        flat = which.reshape(-1)
        places = distinct(rng, self.counts[flat], per_class)  # (T n, k + q)
        examples = self._by_class[self._starts[flat, None] + places]
        return examples.reshape(*which.shape, per_class)

    def _check(self, shape: EpisodeShape) -> None:
        self.check_ways(shape.way)
        name, count = self.fewest
        if count < shape.per_class:
            queries = counted(shape.query, "query", "queries")
            short = int(np.sum(self.counts < shape.per_class))
            raise BadData(
                f"{shape.shot}-shot tasks with {queries} need {shape.per_class} "
                f"examples a class, but class '{name}' has {count}"
                + (f" (and {short - 1} more classes have too few)." if short > 1 else ".")
                + (f" {self._note}" if self._note else "")
            )

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        def part(first: int, last: int) -> Episodes:
            which, examples = self.draw(last - first, shape.way, shape.per_class, rng)
            return Episodes.of(examples, shape.shot, self.classes[which])

        return in_chunks(tasks, shape.way * shape.per_class, part)


def check_common(
    distribution: TaskDistribution, tasks: int, shape: Shape, replacement: bool = True
) -> None:
    """Check that so many common tasks of ``shape`` can be drawn; without replacement, at least one.

    Raises:
        BadData: too few classes or examples, fewer writers than tasks, or tasks that cannot be
            drawn without replacement.
    """
    distribution.check(shape)
    if not replacement:
        if isinstance(distribution, ClassTasks) and isinstance(shape, EpisodeShape):
            return
        raise BadData(
            f"Tasks of {distribution.unit} cannot be drawn without replacement, only class tuples "
            "of one distribution; leave out 'replacement: false'."
        )
    most = most_tasks(distribution, shape)
    if most is not None and tasks > most:
        advice = f"At least 2 are needed: give more {distribution.unit}, or ask less of a task."
        if most >= 2:
            apart = f"; with {most // 2} each the two sets share no {distribution.unit}"
            advice = (
                "Set evaluation.selection_tasks and evaluation.report_tasks to at most "
                f"{most}{apart if most >= 4 else ''}."
            )
        raise BadData(
            f"{tasks} tasks are asked for, each used at most once, but only {most} "
            f"{distribution.unit} have what a task needs. {advice}"
        )


def most_tasks(distribution: TaskDistribution, shape: Shape) -> int | None:
    """Return how many tasks there are to measure on, each used once; None without a limit."""
    return distribution.count(shape) if isinstance(distribution, VaryingTasks) else None
