"""Tasks of attribute pairs: images that carry both attributes against images that do not."""

from typing import ClassVar, final

import numpy as np

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import distinct, named_generator
from fsl_sweep.datasets.tasks.distribution import (
    CountedTasks,
    TaskDistribution,
    checked_examples,
    definite,
    digest_of,
    in_chunks,
)
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.text.printed import counted


@final
class AttributeTasks(TaskDistribution):
    """Two-way tasks, each of a pair of attributes that is uniform among the given ones.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 4, example 2: the
    positive examples carry both attributes, the negative ones are any that do not (they may carry
    one of the two). Class 0 of a task is the negative one, class 1 the positive one;
    ``Episodes.classes`` holds the two attributes, lower number first, in the place of class labels.

    Args:
        pool: images whose classes carry attributes.
        pairs: int64 ``[P, 2]``, different attributes, columns of ``pool.attributes``.
        examples: pool indices that may be drawn; by default all.

    Raises:
        BadData: the pool has no attributes, or an example is repeated or not in the pool.
    """

    unit: ClassVar[str] = "attributes"
    by_label: ClassVar[bool] = False

    def __init__(
        self, pool: ImagePool, pairs: np.ndarray, examples: np.ndarray | None = None
    ) -> None:
        self.pool = pool
        known = _attributes(pool)
        pairs = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1)
        self.pairs = np.unique(pairs, axis=0)
        if examples is None:
            examples = np.arange(len(pool))
        self.examples = checked_examples(pool, examples)
        self.classes = np.unique(pool.labels[self.examples])
        carried = known[pool.labels[self.examples]]  # (N, A)
        places = [np.flatnonzero(carried[:, a] & carried[:, b]) for a, b in self.pairs]
        self._counts = np.array([len(place) for place in places])
        self._starts = np.cumsum(self._counts) - self._counts
        self._positive = np.concatenate(places)
        # For each positive, how many negatives come before it, made ascending over all pairs.
        pair = np.repeat(np.arange(len(self.pairs)), self._counts)
        order = np.arange(len(pair)) - self._starts[pair]
        self._gaps = pair * (len(self.examples) + 1) + self._positive - order

    @property
    def size(self) -> int:
        """Count the attributes that its pairs are made of."""
        return len(np.unique(self.pairs))

    @property
    def members(self) -> dict[int, str]:
        """Name the attributes that its pairs are made of."""
        names = np.asarray(self.pool.attribute_names)
        return {int(attribute): str(names[attribute]) for attribute in np.unique(self.pairs)}

    def _check(self, shape: EpisodeShape) -> None:
        if shape.way != 2:
            raise BadData(
                f"Tasks of attribute pairs have 2 classes, with both attributes and without, not "
                f"{shape.way}; write `way: 2`."
            )
        for group, count in (("with", self._counts), ("without", self._negatives)):
            fewest = int(count.argmin())
            if count[fewest] < shape.per_class:
                queries = counted(shape.query, "query", "queries")
                raise BadData(
                    f"{shape.shot}-shot tasks with {queries} need {shape.per_class} "
                    f"examples a class, but there are {count[fewest]} images {group} "
                    f"{self._names(fewest)}. Ask for fewer, or for pairs with more images "
                    "(min_images)."
                )

    def _sample(self, tasks: int, shape: EpisodeShape, rng: np.random.Generator) -> Episodes:
        return self.sample_of(rng.integers(0, len(self.pairs), tasks), shape, rng)

    def sample_of(
        self, which: np.ndarray, shape: EpisodeShape, rng: np.random.Generator
    ) -> Episodes:
        """Draw an episode of each pair at positions ``which`` ``[T]``. Raises as ``check``."""
        self.check(shape)
        return in_chunks(
            len(which),
            2 * shape.per_class,
            lambda first, last: self._sample_chunk(which[first:last], shape, rng),
        )

    def digest(self) -> str:
        """Digest the pool's content, the pairs and the examples; hex."""
        return digest_of(
            "attribute-tasks", pool=self.pool.fingerprint, pairs=self.pairs, examples=self.examples
        )

    @property
    def _negatives(self) -> np.ndarray:
        return len(self.examples) - self._counts

    def _sample_chunk(
        self, which: np.ndarray, shape: EpisodeShape, rng: np.random.Generator
    ) -> Episodes:
        ranks = distinct(rng, self._counts[which], shape.per_class)  # (T, k + q)
        positive = self._positive[self._starts[which, None] + ranks]
        # The negatives of a pair are nearly all examples, so they are not listed: the r-th of
        # them is at r plus the number of positives before it.
        ranks = distinct(rng, self._negatives[which], shape.per_class)
        keys = which[:, None] * (len(self.examples) + 1) + ranks
        before = np.searchsorted(self._gaps, keys, side="right") - self._starts[which, None]
        drawn = self.examples[np.stack([ranks + before, positive], axis=1)]  # (T, 2, k + q)
        return Episodes.of(drawn, shape.shot, self.pairs[which])

    def _names(self, position: int) -> str:
        names = self.pool.attribute_names or ()
        return " and ".join(f"'{names[attribute]}'" for attribute in self.pairs[position])


def feasible_pairs(
    pool: ImagePool, attributes: np.ndarray, parts: list[np.ndarray], least: int
) -> np.ndarray:
    """Find pairs of different properties with enough images, with and without, in every part.

    The property of an attribute ``Closure.Buckle`` is the part before its first dot; without one,
    the attribute is a property of its own. Two closures are not a pair.

    Args:
        pool: images whose classes carry attributes.
        attributes: columns of ``pool.attributes``.
        parts: pool indices; each part must have enough images.
        least: images that a pair needs (20 in "Two Sides", appendix D.1).

    Returns:
        int64 ``[P, 2]``, sorted, the lower attribute first; there may be none.
    """
    chosen = np.sort(np.asarray(attributes, dtype=np.int64))
    enough = np.ones((len(chosen), len(chosen)), dtype=bool)
    for part in parts:
        together = co_occurrence(pool, part)[np.ix_(chosen, chosen)]
        enough &= (together >= least) & (len(part) - together >= least)
    property_of = np.array([name.partition(".")[0] for name in pool.attribute_names or ()])[chosen]
    enough &= property_of[:, None] != property_of
    first, second = np.nonzero(np.triu(enough, k=1))
    return np.stack([chosen[first], chosen[second]], axis=1)


def co_occurrence(pool: ImagePool, examples: np.ndarray) -> np.ndarray:
    """Count the examples that carry both attributes of each pair, int64 ``[A, A]``.

    The diagonal counts the examples that carry an attribute.
    """
    known = _attributes(pool)
    images = np.bincount(pool.labels[examples], minlength=len(known))
    weighted = known.astype(np.int64) * images[:, None]
    return known.T.astype(np.int64) @ weighted


def _attributes(pool: ImagePool) -> np.ndarray:
    if pool.attributes is None:
        raise BadData("Tasks of attribute pairs need images with attributes; these have none.")
    return np.asarray(pool.attributes, dtype=bool)


@final
class FixedTasks(CountedTasks):
    """``count`` attribute tasks, drawn once; training goes over them again and again.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution" trains on 1000, 250 or 50
    such tasks (section 4 and appendix E.2), each with one randomly drawn support and query set.
    Pairs are drawn independently, so that one may be drawn twice. They depend only on the seed, the
    examples also on the episode's shape.

    Attributes:
        which: int64 ``[count]``, the position of each task's pair in ``tasks.pairs``.
        pairs: int64 ``[P, 2]``, the attribute pairs among the tasks, each once.
    """

    unit: ClassVar[str] = "attributes"
    by_label: ClassVar[bool] = False

    def __init__(self, tasks: AttributeTasks, count: int, seed: int) -> None:
        self.pool, self.examples = tasks.pool, tasks.examples
        self.classes = tasks.classes
        self._tasks, self._seed = tasks, seed
        rng = named_generator(seed, "training tasks")
        self.which = rng.integers(0, len(tasks.pairs), count)
        self.pairs = tasks.pairs[np.unique(self.which)]
        self._kept: dict[EpisodeShape, Episodes] = {}

    @property
    def size(self) -> int:
        """Count the attributes that the pairs are made of."""
        return len(np.unique(self.pairs))

    def episodes(self, shape: EpisodeShape) -> Episodes:
        """Return all of the tasks, in the order of their draw. Raises BadData as ``check``."""
        if shape not in self._kept:
            rng = named_generator(self._seed, "training episodes", str(shape))
            self._kept[shape] = self._tasks.sample_of(self.which, shape, rng)
        return self._kept[shape]

    def count(self, shape: Shape) -> int:  # noqa: ARG002 (an interface)
        """Return how many were drawn, for every shape."""
        return len(self.which)

    def take(self, which: np.ndarray, shape: Shape, rng: np.random.Generator) -> Episodes:  # noqa: ARG002
        """Return the tasks with the examples that were drawn once."""
        return self.episodes(definite(shape))[which]

    def digest(self) -> str:
        """Digest what they are drawn from, how many, and the seed; hex."""
        return digest_of(
            "fixed-tasks", tasks=self._tasks.digest(), count=len(self.which), seed=self._seed
        )

    def _check(self, shape: EpisodeShape) -> None:
        self._tasks.check(shape)
