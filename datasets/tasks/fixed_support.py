"""FIX-ML: every training episode takes a class's support from the same few examples."""

from typing import Literal, final

import numpy as np

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution, digest_of
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.orchestrator.errors import BadData

QueriesFrom = Literal["others", "all"]
"""Of a class with a fixed support: the examples that are not in it, or all."""


@final
class FixedSupportTasks(TaskDistribution):
    """Class tasks whose support is ``shot`` examples a class, drawn once and kept.

    "Lessons from Chasing Few-Shot Learning Benchmarks", section 4, objective (3): the support pool
    of each base class shrinks to the k examples that a task needs. Queries come from the class's
    other examples, or, as in that objective, from all of them: a query may then be in the support.

    Args:
        tasks: the class tasks to take examples from.
        shot: support examples a class, at least 1.
        rng: draws the fixed support.
        queries_from: the class's ``others``, or ``all`` of its examples.

    Raises:
        BadData: a class has no example that is not in its support.
    """

    def __init__(
        self,
        tasks: ClassTasks,
        shot: int,
        rng: np.random.Generator,
        queries_from: QueriesFrom = "others",
    ) -> None:
        self.pool, self.examples, self.classes = tasks.pool, tasks.examples, tasks.classes
        name, count = tasks.fewest
        if count <= shot:
            raise BadData(
                f"Class '{name}' has {count} examples: with {shot} fixed as its support, none is "
                "left for queries."
            )
        self.support = tasks.draw_examples(np.arange(tasks.size), shot, rng)  # [C, k]
        rest = np.setdiff1d(self.examples, self.support)
        others = queries_from == "others"
        self._besides = " besides its fixed support" if others else ""
        self._queries = ClassTasks(self.pool, tasks.classes, rest) if others else tasks

    def digest(self) -> str:
        """Digest the fixed support and what queries are drawn from; hex."""
        return digest_of("fixed-support", support=self.support, queries=self._queries.digest())

    def _check(self, shape: EpisodeShape) -> None:
        if shape.shot != (fixed := self.support.shape[1]):
            raise BadData(f"{fixed} support examples a class are fixed, not {shape.shot}.")
        self._queries.check_ways(shape.way)
        name, count = self._queries.fewest
        if count < shape.query:
            raise BadData(
                f"{shape.query} queries a class are asked for, but class '{name}' has {count} "
                f"examples{self._besides}."
            )

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        which, query = self._queries.draw(tasks, shape.way, shape.query, rng)
        return Episodes(self.support[which], query, self.classes[which])
