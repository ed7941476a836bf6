"""FIX-ML: every training episode takes a class's support from the same few examples."""

from typing import final

import numpy as np

from fsl_sweep.datasets.episodes import Episodes, EpisodeShape
from fsl_sweep.datasets.pool import array_digest, canonical_digest
from fsl_sweep.datasets.tasks import ClassTasks, TaskDistribution
from fsl_sweep.orchestrator.errors import BadData


@final
class FixedSupportTasks(TaskDistribution):
    """Class tasks whose support is ``shot`` examples a class, drawn once and kept.

    "Lessons from Chasing Few-Shot Learning Benchmarks", section 4, objective (3): the support pool
    of each base class shrinks to the k examples that a task needs. Queries come from the class's
    other examples, so that support and query stay disjoint.

    Args:
        tasks: the class tasks to take examples from.
        shot: support examples a class, at least 1.
        rng: draws the fixed support.

    Raises:
        BadData: a class has no example left for queries.
    """

    def __init__(self, tasks: ClassTasks, shot: int, rng: np.random.Generator) -> None:
        self.pool, self.examples = tasks.pool, tasks.examples
        self._shot = shot
        labels = self.pool.labels[self.examples]
        fixed = [
            rng.choice(self.examples[labels == c], shot + 1, replace=False)[:shot]
            if np.sum(labels == c) > shot
            else _too_few(self.pool.class_names[c], shot)
            for c in tasks.classes
        ]
        self.support = np.stack(fixed)  # [class, shot], in the order of `classes`
        rest = np.setdiff1d(self.examples, self.support)
        self._queries = ClassTasks(self.pool, tasks.classes, rest)

    @property
    def classes(self) -> np.ndarray:
        """The class labels it draws from, int64, sorted."""
        return self._queries.classes

    def check(self, shape: EpisodeShape, tasks: int | None = None) -> None:
        """Raises BadData where episodes of ``shape`` cannot be drawn; see the base class."""
        if shape.shot != self._shot:
            raise BadData(f"{self._shot} support examples a class are fixed, not {shape.shot}.")
        self._queries.check(_one_and_the_rest(shape), tasks)

    def sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """``tasks`` episodes: uniform class tuples, fixed support, fresh queries."""
        self.check(shape, tasks)
        # What is drawn as support and as query are together the queries of each class.
        drawn = self._queries.sample(tasks, _one_and_the_rest(shape), rng)
        support = self.support[np.searchsorted(self.classes, drawn.classes)]
        query = np.concatenate([drawn.support, drawn.query], axis=2)
        return Episodes(support, query, drawn.classes)

    def digest(self) -> str:
        """Hex digest of the fixed support and the query tasks."""
        return canonical_digest(
            {
                "kind": "fixed-support",
                "support": array_digest(self.support),
                "queries": self._queries.digest(),
            }
        )


def _one_and_the_rest(shape: EpisodeShape) -> EpisodeShape:
    """A shape with ``query`` examples a class in all."""
    return EpisodeShape(shape.way, 1, shape.query - 1)


def _too_few(name: str, shot: int) -> np.ndarray:
    raise BadData(f"Class '{name}' has no example left for queries beside {shot} fixed ones.")
