"""Task distributions, and the common tasks on which every snapshot is measured."""

import hashlib
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from fsl_sweep.datasets.distinct import distinct
from fsl_sweep.datasets.distribution import (
    TaskDistribution,
    VaryingTasks,
    check_tasks,
    sample_tasks,
)
from fsl_sweep.datasets.episodes import Episodes, EpisodeShape, VaryingShape
from fsl_sweep.datasets.pool import ImagePool, array_digest, canonical_digest
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.datasets.benchmark import Benchmark

TaskSet = Literal["selection", "report"]

INDICES_AT_ONCE = 1_000_000  # bounds the working memory of a draw to some tens of megabytes


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
        BadData: a class is repeated, is not in the pool or has no example; an example is repeated
            or is of another class.
    """

    def __init__(
        self,
        pool: ImagePool,
        classes: np.ndarray,
        examples: np.ndarray | None = None,
        note: str = "",
    ) -> None:
        self.pool, self._note = pool, note
        self._classes = np.sort(np.asarray(classes, dtype=np.int64))
        if examples is None:
            examples = np.flatnonzero(np.isin(pool.labels, self._classes))
        self.examples = np.sort(np.asarray(examples, dtype=np.int64))
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

    def check(self, shape: EpisodeShape, tasks: int | None = None) -> None:
        """Raises BadData where episodes of ``shape`` cannot be drawn; see the base class."""
        if tasks is not None and tasks < 1:
            raise BadData(f"{tasks} tasks are asked for; at least 1 is needed.")
        if len(self._classes) < shape.way:
            raise BadData(
                f"{shape.way}-way tasks need {shape.way} classes, "
                f"but only {len(self._classes)} are there."
            )
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

    def sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """``tasks`` independent episodes, every one with the same probability."""
        self.check(shape, tasks)
        chunk = max(1, INDICES_AT_ONCE // (shape.way * shape.per_class))
        parts = [
            self._sample_chunk(min(chunk, tasks - done), shape, rng)
            for done in range(0, tasks, chunk)
        ]
        return Episodes.concatenate(parts)

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
        return self._episodes(which, examples, shape)

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
        """Class tuples and examples that are not yet told apart into support and query.

        The caller makes sure that there are enough of both (``check``).

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

    def _sample_chunk(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        return self._episodes(*self.draw(tasks, shape.way, shape.per_class, rng), shape)

    def _episodes(self, which: np.ndarray, examples: np.ndarray, shape: EpisodeShape) -> Episodes:
        support, query = np.split(examples, [shape.shot], axis=2)
        return Episodes(
            np.ascontiguousarray(support), np.ascontiguousarray(query), self._classes[which]
        )

    def _check_members(self) -> None:
        known = len(self.pool.class_names)
        classes, examples = self._classes, self.examples
        if len(classes) == 0:
            raise BadData("A task distribution needs at least one class.")
        if np.any(np.diff(classes) == 0) or np.any((classes < 0) | (classes >= known)):
            raise BadData(f"Class labels must be distinct and from 0 to {known - 1}.")
        if np.any(np.diff(examples) == 0) or np.any((examples < 0) | (examples >= len(self.pool))):
            raise BadData(f"Examples must be distinct and from 0 to {len(self.pool) - 1}.")
        labels = self.pool.labels[examples]
        if not np.isin(labels, classes).all():
            raise BadData("Some examples are of a class that the task distribution does not have.")
        empty = np.setdiff1d(classes, labels)
        if len(empty):
            raise BadData(f"Class '{self.pool.class_names[empty[0]]}' has no examples.")


def common_tasks(
    benchmark: "Benchmark",
    split: str,
    task_set: TaskSet,
    tasks: int,
    shape: EpisodeShape | VaryingShape,
    seed: int,
) -> Episodes:
    """The episodes on which every snapshot is measured.

    They are a function of the benchmark's fingerprint and the other arguments alone: the same
    for every trial, epoch, method and process, so that every comparison can be paired.
    Snapshots are selected on one task set and reported on the other, drawn independently of it.

    Of writers none is in a set twice, and the two sets share none where there are enough: a random
    order of the writers, the same for both, is taken from its begin for selection and from its end
    for the report.

    Args:
        benchmark: where tasks come from.
        split: ``base``, ``val`` or ``novel`` (``train`` for a study of memorisation).
        task_set: ``selection`` or ``report``.
        tasks: how many.
        shape: way, shot and query, or all that a task has.
        seed: the evaluation's seed.

    Raises:
        BadData: the split has too few classes, examples or writers.
        ValueError: an unknown split or task set.
    """
    if task_set not in ("selection", "report"):
        raise ValueError(f"task_set is 'selection' or 'report', not {task_set!r}")
    distribution = benchmark.distribution(split)
    asked = (shape.way, shape.shot, shape.query, seed)
    rng = _generator(benchmark.fingerprint, split, task_set, tasks, *asked)
    if not isinstance(distribution, VaryingTasks):
        return sample_tasks(distribution, tasks, shape, rng)
    check_common(distribution, tasks, shape)
    order = _generator(benchmark.fingerprint, split, "people", *asked).permutation(
        distribution.count(shape)
    )
    which = order[:tasks] if task_set == "selection" else order[::-1][:tasks]
    return distribution.take(which, shape, rng)


def check_common(
    distribution: TaskDistribution, tasks: int, shape: EpisodeShape | VaryingShape
) -> None:
    """Whether so many common tasks of ``shape`` can be drawn.

    Raises:
        BadData: too few classes or examples, or fewer writers than tasks.
    """
    check_tasks(distribution, shape)
    most = most_tasks(distribution, shape)
    if most is not None and tasks > most:
        raise BadData(
            f"{tasks} tasks are asked for, and none may come twice, but there are only {most} "
            f"{distribution.unit} with what a task needs. Set evaluation.selection_tasks and "
            f"evaluation.report_tasks to {most} at most; with {most // 2} each the two sets share "
            f"no {distribution.unit}."
        )


def most_tasks(distribution: TaskDistribution, shape: EpisodeShape | VaryingShape) -> int | None:
    """How many tasks there are to measure on, of which none is taken twice; None: any number."""
    return distribution.count(shape) if isinstance(distribution, VaryingTasks) else None


def _generator(*words: object) -> np.random.Generator:
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    entropy = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
