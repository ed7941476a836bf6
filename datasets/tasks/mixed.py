"""Tasks between two distributions: some classes of a task are base classes and some are novel."""

from typing import final

import numpy as np

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution, digest_of, in_chunks
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.orchestrator.errors import BadData


@final
class MixedTasks(TaskDistribution):
    """P_BN(lambda) of "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution" (E.3).

    The classes of a task are drawn one after the other: from the novel set with probability
    lambda, else from the base set, uniformly within the set; where the task already has the class,
    set and class are drawn again. So a remaining class has the weight lambda / |N| if it is novel
    and (1 - lambda) / |B| if it is base. Only this reading agrees exactly with what the paper says
    of three values: 0 gives the base class tuples, 1 the novel ones, and |N| / (|N| + |B|) the
    uniform tuples of both sets together. Where a set is used up, the rest comes from the other.

    Args:
        base: base classes with the examples to measure on, so the held-out ones.
        novel: novel classes, in the same pool.
        weight: lambda, the probability that a task's first class is novel, from 0 to 1.

    Raises:
        BadData: the pools differ, or a class is in both sets.
    """

    def __init__(self, base: ClassTasks, novel: ClassTasks, weight: float) -> None:
        if base.pool.fingerprint != novel.pool.fingerprint:
            raise BadData(
                "Tasks that mix base and novel classes index one pool of images, but these classes "
                "are in two; prepare them as one benchmark."
            )
        both = np.intersect1d(base.classes, novel.classes)
        if len(both):
            name = base.pool.class_names[both[0]]
            raise BadData(f"Class '{name}' is both a base and a novel class.")
        self.pool, self.weight = base.pool, float(weight)
        self._base, self._novel = base, novel
        if weight in (0, 1):
            self._drawn = novel if weight else base
        else:
            self._drawn = ClassTasks(
                base.pool,
                np.concatenate([base.classes, novel.classes]),
                np.concatenate([base.examples, novel.examples]),
            )
        self.examples, self.classes = self._drawn.examples, self._drawn.classes
        is_novel = np.isin(self.classes, novel.classes)
        # The mean time of a class's arrival is one over its weight; see _sample_chunk.
        self._times = 1 / np.where(
            is_novel, self.weight / novel.size, (1 - self.weight) / base.size
        )

    def digest(self) -> str:
        """Digest both sets with their examples, and lambda; hex."""
        return digest_of(
            "mixed-tasks",
            base=self._base.digest(),
            novel=self._novel.digest(),
            **{"lambda": self.weight},
        )

    def _check(self, shape: EpisodeShape) -> None:
        self._drawn.check(shape)

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        return in_chunks(
            tasks,
            max(self.size, shape.way * shape.per_class),
            lambda first, last: self._sample_chunk(last - first, shape, rng),
        )

    def _sample_chunk(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        # Drawing one after the other with given weights is a race: exponential arrival times
        # with the weights as rates come in in exactly that order.
        arrival = rng.standard_exponential((tasks, len(self._times))) * self._times  # (T, C)
        first = np.argpartition(arrival, shape.way - 1, axis=1)[:, : shape.way]
        order = np.argsort(np.take_along_axis(arrival, first, axis=1), axis=1)
        which = np.take_along_axis(first, order, axis=1)
        examples = self._drawn.draw_examples(which, shape.per_class, rng)
        return Episodes.of(examples, shape.shot, self.classes[which])
