"""Episodes whose queries fall on their classes at random, in numbers that differ."""

from typing import final

import numpy as np

from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution, digest_of
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks


@final
class MultinomialQueries(TaskDistribution):
    """Class tasks of ``way * query`` queries, of which each class has 1 and a share of the rest.

    The other ``way * (query - 1)`` queries fall on the classes of the task independently, each on
    any with the same probability: a multinomial draw. The released code of "Two Sides of
    Meta-Learning Evaluation" trains Prototypical Networks so; the paper's text does not say so.
    Queries are padded with -1.
    """

    def __init__(self, tasks: ClassTasks | FixedSupportTasks) -> None:
        self.pool, self.examples, self.classes = tasks.pool, tasks.examples, tasks.classes
        self._tasks = tasks

    def digest(self) -> str:
        """Digest what the classes and examples are drawn from; hex."""
        return digest_of("multinomial-queries", tasks=self._tasks.digest())

    def _check(self, shape: EpisodeShape) -> None:
        self._tasks.check(most_queries(shape))  # every class could have all that may fall on it

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        counts = 1 + rng.multinomial(
            shape.way * (shape.query - 1), np.full(shape.way, 1 / shape.way), size=tasks
        )
        # The first few of exchangeable draws are as good as drawing that few.
        most = int(counts.max())
        drawn = self._tasks.sample(tasks, EpisodeShape(shape.way, shape.shot, most), rng)
        query = np.where(np.arange(most) < counts[:, :, None], drawn.query, -1)
        return Episodes(drawn.support, query, drawn.classes)


def most_queries(shape: EpisodeShape) -> EpisodeShape:
    """Return the shape in which every class has as many queries as may fall on one of them."""
    return EpisodeShape(shape.way, shape.shot, 1 + shape.way * (shape.query - 1))
