"""A fixed number of training tasks, each with one support and query draw that is kept."""

from typing import ClassVar, final

import numpy as np

from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.attributes import AttributeTasks
from fsl_sweep.datasets.tasks.distribution import CountedTasks, definite, digest_of
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape


@final
class FixedTasks(CountedTasks):
    """``count`` attribute tasks, drawn once; training goes over them again and again.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution" trains on 1000, 250 or 50
    such tasks (section 4 and appendix E.2), each with one randomly drawn support and query set.
    Pairs are drawn independently, so that one may be drawn twice. They depend only on the seed, the
    examples also on the episode's shape.

    Args:
        tasks: what they are drawn from.
        count: how many, at least 1.
        seed: of the draw.
    """

    unit: ClassVar[str] = "attributes"
    by_label: ClassVar[bool] = False

    def __init__(self, tasks: AttributeTasks, count: int, seed: int) -> None:
        self.pool, self.examples = tasks.pool, tasks.examples
        self.classes = tasks.classes
        self._tasks, self._seed = tasks, seed
        self.which = tasks.draw_pairs(count, named_generator(seed, "training tasks"))
        self._kept: dict[EpisodeShape, Episodes] = {}

    @property
    def pairs(self) -> np.ndarray:
        """The attribute pairs among the tasks, each once, int64 ``[P, 2]``."""
        return self._tasks.pairs[np.unique(self.which)]

    @property
    def size(self) -> int:
        """How many attributes the pairs are made of."""
        return len(np.unique(self.pairs))

    def episodes(self, shape: EpisodeShape) -> Episodes:
        """All of the tasks, in the order of their draw.

        Raises:
            BadData: as ``check``.
        """
        if shape not in self._kept:
            rng = named_generator(self._seed, "training episodes", str(shape))
            self._kept[shape] = self._tasks.sample_of(self.which, shape, rng)
        return self._kept[shape]

    def count(self, shape: Shape) -> int:  # noqa: ARG002 (an interface)
        """As many as were drawn, for every shape."""
        return len(self.which)

    def take(self, which: np.ndarray, shape: Shape, rng: np.random.Generator) -> Episodes:  # noqa: ARG002
        """The tasks with the examples that were drawn once."""
        kept = self.episodes(definite(shape))
        return Episodes(kept.support[which], kept.query[which], kept.classes[which])

    def digest(self) -> str:
        """Hex digest of what they are drawn from, how many, and the seed."""
        return digest_of(
            "fixed-tasks", tasks=self._tasks.digest(), count=len(self.which), seed=self._seed
        )

    def _check(self, shape: EpisodeShape) -> None:
        self._tasks.check(shape)
