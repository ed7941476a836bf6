"""Measuring snapshots on tasks of many random class sets, or sets of examples, of one class set."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any, Literal, final

import numpy as np

from fsl_sweep.datasets.benchmark import SPLITS, Benchmark, SplitName
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.learners.base import EmbeddingLearner, Learner
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.evaluator import answered
from fsl_sweep.orchestrator.measuring.features import PoolFeatures
from fsl_sweep.orchestrator.measuring.gram import GramMatrix, Rule, is_cheaper, rule_of
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.measures import TaskScores
from fsl_sweep.orchestrator.text.printed import counted

AnswerPath = Literal["gram", "features", "direct"]

_TASKS_AT_ONCE = 20_000  # bounds the memory of a set's tasks


@final
class ClassSetScorer:
    """Answers of one snapshot to tasks of any classes and examples of one class set.

    There are three paths to the same answers: the Gram matrix of a set's images, for learners with
    a nearest-centroid or ridge head; their features; and the way of every protocol, for learners
    that adapt. Images are embedded once, when the scorer is made.

    Args:
        learner: in evaluation mode.
        images: of the pool that tasks index.
        examples: pool indices that tasks may have, sorted.
        base_classes: the pool's labels that were trained on.
    """

    def __init__(
        self,
        learner: Learner[Any],
        images: PoolImages,
        examples: np.ndarray,
        base_classes: np.ndarray,
    ) -> None:
        self._direct = partial(answered, learner, images, base_classes=base_classes)
        self._features: PoolFeatures | None = None
        self._rule: Rule | None = None
        if isinstance(learner, EmbeddingLearner):
            self._features = PoolFeatures(learner, images, examples)
            self._rule = rule_of(learner)

    @property
    def embeds(self) -> bool:
        """Return whether images are embedded once, so that answers do not change the learner."""
        return self._features is not None

    def cheapest(self, images: int, tasks: int, shape: EpisodeShape) -> AnswerPath:
        """Return the path that costs least for so many tasks of a set with so many images."""
        if self._features is None:
            return "direct"
        # With fewer features ridge regression solves its primal form.
        small = self._features.features.shape[1] < shape.way * shape.shot
        cheaper = self._rule and not small and is_cheaper(images, tasks, shape)
        return "gram" if cheaper else "features"

    def by(self, path: AnswerPath, examples: np.ndarray) -> Callable[[Episodes], TaskScores]:
        """Return what answers episodes of these examples by a path.

        Raises:
            ValueError: the learner has no such path.
        """
        if path == "direct":
            return lambda episodes: self._direct(sets={0: episodes})[0]
        if self._features is not None and path == "features":
            return self._features.score
        if self._features is not None and self._rule is not None:
            return GramMatrix(self._features, examples, self._rule).score
        raise ValueError(f"This learner has no path '{path}'.")


def class_set(benchmark: Benchmark, splits: Sequence[SplitName | Literal["unused"]]) -> ClassTasks:
    """Return the classes of some splits together, with the examples that each is measured on.

    ``unused`` is every class of the pool of ``novel`` that is in no split.

    Raises:
        BadData: tasks are not made of classes, no class is unused, or the splits have images of
            different pools.
    """
    known = [benchmark.distribution("novel" if split == "unused" else split) for split in splits]
    for part in known:
        if not isinstance(part, ClassTasks):
            raise BadData(
                f"Class sets are drawn from classes, but tasks of '{benchmark.name}' are made of "
                f"{part.unit}."
            )
    pools = {part.pool.fingerprint: part.pool for part in known}
    if len(pools) > 1:
        raise BadData(f"{' and '.join(splits)} of '{benchmark.name}' are in different pools.")
    parts = [_unused(benchmark) if s == "unused" else benchmark.distribution(s) for s in splits]
    classes, examples = ([getattr(part, key) for part in parts] for key in ("classes", "examples"))
    return ClassTasks(parts[0].pool, np.concatenate(classes), np.unique(np.concatenate(examples)))


def _unused(benchmark: Benchmark) -> ClassTasks:
    pool = benchmark.novel.pool
    splits = [benchmark.distribution(split) for split in SPLITS]
    used = [split.classes for split in splits if split.pool.fingerprint == pool.fingerprint]
    left = np.setdiff1d(pool.labels, np.concatenate(used))
    if not left.size:
        raise BadData(f"'{benchmark.name}' uses every class: none is left for the class set.")
    return ClassTasks(pool, left)


@dataclass(frozen=True)
class ClassSets:
    """Random parts of a class set C_L, and the tasks of each; a function of ``seed`` only.

    Attributes:
        whole: tasks of the class set.
        shape: of a task.
        seed: of what is drawn.

    Raises:
        BadData: the class set has too few classes or examples for a task.
    """

    whole: ClassTasks
    shape: EpisodeShape
    seed: int = 0

    def __post_init__(self) -> None:
        self.whole.check(self.shape)

    def check_size(self, size: int) -> None:
        """Raise BadData unless there can be novel sets of ``size`` classes."""
        if size > self.whole.size:
            known = counted(self.whole.size, "class", "classes")
            raise BadData(f"A novel set of {size} classes is larger than the class set of {known}.")
        if size < (way := self.shape.way):
            raise BadData(f"A novel set of {size} classes is too small for {way}-way tasks.")

    def novel_sets(self, size: int, count: int) -> Iterator[ClassTasks]:
        """Draw ``count`` times ``size`` classes, without repetition, with all their examples.

        Raises:
            BadData: as ``check_size``.
        """
        self.check_size(size)
        whole, draws = self.whole, self._draws("novel sets", size)
        labels = whole.pool.labels[whole.examples]
        for _ in range(count):
            classes = draws.permutation(whole.classes)[:size]
            yield ClassTasks(whole.pool, classes, whole.examples[np.isin(labels, classes)])

    def check_kept(self, kept: int) -> None:
        """Raise BadData unless there can be sets of ``kept`` examples of each class."""
        whole, fewest = self.whole, int(self.whole.counts.min())
        if kept > fewest:
            name = whole.pool.class_names[whole.classes[whole.counts.argmin()]]
            raise BadData(f"{kept} examples of each class cannot be kept: '{name}' has {fewest}.")
        if kept < (needed := self.shape.per_class):
            raise BadData(f"{kept} examples of each class are too few: a task needs {needed}.")

    def example_sets(self, kept: int, count: int) -> Iterator[ClassTasks]:
        """Draw ``count`` times ``kept`` examples of every class, uniform without repetition.

        Raises:
            BadData: as ``check_kept``.
        """
        self.check_kept(kept)
        whole, draws = self.whole, self._draws("example sets", kept)
        for _ in range(count):
            examples = whole.draw_examples(np.arange(whole.size)[:, None], kept, draws)
            yield ClassTasks(whole.pool, whole.classes, examples.ravel())

    def accuracies(
        self,
        scorers: Sequence[ClassSetScorer],
        sets: Iterable[ClassTasks],
        tasks: int,
        *,
        paired: bool = True,
        path: AnswerPath | None = None,
    ) -> np.ndarray:
        """Measure each snapshot on ``tasks`` tasks of each set; float64 ``[snapshot, S, T]``.

        Snapshots that embed answer in a thread each, while the next tasks are drawn.

        Args:
            scorers: of the snapshots.
            sets: parts of the class set.
            tasks: how many for each set.
            paired: whether the snapshots have the same tasks.
            path: the cheapest by default.

        Raises:
            TrialFailure: a learner's answers are not numbers.
        """
        with ThreadPoolExecutor(len(scorers)) as threads:
            # Learners that adapt put the weights of a task into their modules meanwhile.
            each = threads.map if all(scorer.embeds for scorer in scorers) else map
            parts = self._parts(scorers, sets, tasks, paired, path)
            started = (each(lambda answer, some: answer(some).accuracy, *part) for part in parts)
            # Each part is waited for when the next one has been drawn and started.
            rows = [[*now] for now, _ in pairwise(chain(started, [()]))]
        columns = [np.concatenate(column) for column in zip(*rows, strict=True)]
        return np.array(columns).reshape(len(scorers), -1, tasks)

    def _parts(
        self,
        scorers: Sequence[ClassSetScorer],
        sets: Iterable[ClassTasks],
        tasks: int,
        paired: bool,
        path: AnswerPath | None,
    ) -> Iterator[tuple[list[Callable[[Episodes], TaskScores]], list[Episodes]]]:
        """Yield, set by set, what answers for each snapshot, and some tasks of the set."""
        streams = range(1 if paired else len(scorers))
        for number, part in enumerate(sets):
            images, shape = len(part.examples), self.shape
            score = [s.by(path or s.cheapest(images, tasks, shape), part.examples) for s in scorers]
            draws = [self._draws("tasks", part.size, images, number, stream) for stream in streams]
            for first in range(0, tasks, _TASKS_AT_ONCE):
                size = min(_TASKS_AT_ONCE, tasks - first)
                episodes = [part.sample(size, shape, stream) for stream in draws]
                yield score, episodes * len(score) if paired else episodes

    def _draws(self, *words: object) -> np.random.Generator:
        return named_generator(self.seed, *map(str, words))
