"""A fixed number of training tasks, each with one support and query draw that is kept."""

from typing import ClassVar, final

import numpy as np

from fsl_sweep.datasets.attribute_tasks import AttributeTasks
from fsl_sweep.datasets.distribution import CountedTasks
from fsl_sweep.datasets.episodes import Episodes, EpisodeShape
from fsl_sweep.datasets.pool import canonical_digest
from fsl_sweep.datasets.splits import named_generator


@final
class FixedTasks(CountedTasks):
    """``count`` attribute tasks, drawn once; training goes over them again and again.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution" trains on 1000, 250 or 50
    such tasks (section 4 and appendix E.2), each with one randomly drawn support and query set.
    Pairs are drawn independently, so that one may come twice. They depend on the seed alone, the
    examples on the seed and the episode's shape.

    Args:
        tasks: what they are drawn from.
        count: how many, at least 1.
        seed: of the draw.
    """

    unit: ClassVar[str] = "attributes"
    by_label: ClassVar[bool] = False

    def __init__(self, tasks: AttributeTasks, count: int, seed: int) -> None:
        self.pool, self.examples = tasks.pool, tasks.examples
        self._tasks, self._seed = tasks, seed
        self.which = tasks.draw_pairs(count, named_generator(seed, "training tasks"))
        self._kept: dict[EpisodeShape, Episodes] = {}

    @property
    def classes(self) -> np.ndarray:
        """The pool's class labels that the examples are of, int64, sorted."""
        return self._tasks.classes

    @property
    def pairs(self) -> np.ndarray:
        """The attribute pairs among the tasks, each once, int64 ``[P, 2]``."""
        return self._tasks.pairs[np.unique(self.which)]

    @property
    def size(self) -> int:
        """How many attributes the pairs are made of."""
        return len(np.unique(self.pairs))

    def check(self, shape: EpisodeShape, tasks: int | None = None) -> None:
        """Raises BadData where episodes of ``shape`` cannot be drawn; see the base class."""
        self._tasks.check(shape, tasks)

    def episodes(self, shape: EpisodeShape) -> Episodes:
        """All of the tasks, in the order of their draw.

        Raises:
            BadData: as ``check``.
        """
        if shape not in self._kept:
            rng = named_generator(self._seed, "training episodes", str(shape))
            self._kept[shape] = self._tasks.sample_of(self.which, shape, rng)
        return self._kept[shape]

    def sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        """``tasks`` of them, drawn independently; a task always has the same examples."""
        self.check(shape, tasks)
        return self.take(rng.integers(0, len(self.which), tasks), shape, rng)

    def count(self, shape: EpisodeShape) -> int:  # noqa: ARG002 (an interface)
        """As many as were drawn, whatever the shape."""
        return len(self.which)

    def take(
        self,
        which: np.ndarray,
        shape: EpisodeShape,
        rng: np.random.Generator,  # noqa: ARG002 (an interface)
    ) -> Episodes:
        """The tasks as they are kept; nothing is left to chance."""
        kept = self.episodes(shape)
        return Episodes(kept.support[which], kept.query[which], kept.classes[which])

    def digest(self) -> str:
        """Hex digest of what they are drawn from, how many, and the seed."""
        return canonical_digest(
            {
                "kind": "fixed-tasks",
                "tasks": self._tasks.digest(),
                "count": len(self.which),
                "seed": self._seed,
            }
        )
