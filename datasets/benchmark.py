"""A benchmark: four task distributions over image pools."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fsl_sweep.datasets.files.digests import canonical_digest
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.tasks.classes import ClassTasks, check_common
from fsl_sweep.datasets.tasks.distribution import TaskDistribution, VaryingTasks
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, Shape
from fsl_sweep.orchestrator.errors import BadData

SplitName = Literal["train", "base", "val", "novel"]

SPLITS: tuple[SplitName, ...] = ("train", "base", "val", "novel")

MEASURED: tuple[SplitName, ...] = ("base", "val", "novel")

PixelStatistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and deviation of each channel, in units where white is 1."""

_STATISTICS_IMAGES = 2000

_IMAGES_AT_ONCE = 100


@dataclass(frozen=True, eq=False)
class Benchmark:
    """What a learner trains on, and the three distributions that it is measured on.

    Attributes:
        name: as in the catalogue.
        train: training examples of the base classes.
        base: held-out examples of the base classes (BaseGen); shares no example with ``train``.
        val: validation classes (ValGen).
        novel: novel classes (NovelGen).
        fingerprint: hex digest of the pools' content and of the split.
        fresh_base: whether BaseGen is measured on examples that are never trained on. Where the
            user chose another protocol, a caution says what is measured instead.
        cautions: what a reader of its numbers should know, as sentences without a full stop.
        pixels: what images are normalised by, in place of the statistics of ``train``.

    Raises:
        BadData: an example of ``train`` is in ``base`` although ``fresh_base``.
    """

    name: str
    train: TaskDistribution
    base: TaskDistribution
    val: TaskDistribution
    novel: TaskDistribution
    fingerprint: str
    fresh_base: bool = True
    cautions: tuple[str, ...] = ()
    pixels: PixelStatistics | None = None

    def __post_init__(self) -> None:
        same_pool = self.train.pool.fingerprint == self.base.pool.fingerprint
        shared = same_pool and np.intersect1d(self.train.examples, self.base.examples).size
        if shared and self.fresh_base:
            raise BadData(f"'{self.name}' measures BaseGen on examples that it trains on.")

    @classmethod
    def of(
        cls,
        name: str,
        train: TaskDistribution,
        base: TaskDistribution,
        val: TaskDistribution,
        novel: TaskDistribution,
        *,
        fresh_base: bool = True,
        cautions: tuple[str, ...] = (),
    ) -> "Benchmark":
        """Make a benchmark with its fingerprint, which does not depend on its name."""
        splits = {"train": train, "base": base, "val": val, "novel": novel}
        fingerprint = canonical_digest({key: split.digest() for key, split in splits.items()})
        return cls(name, train, base, val, novel, fingerprint, fresh_base, cautions)

    def distribution(self, split: str) -> TaskDistribution:
        """Return the task distribution called ``train``, ``base``, ``val`` or ``novel``."""
        return getattr(self, split)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Return channels, height and width of every image."""
        return self.train.pool.image_shape

    @property
    def n_base_classes(self) -> int:
        """Count the classes that occur among the training examples."""
        return len(np.unique(self.train.pool.labels[self.train.examples]))

    @property
    def pixel_mean(self) -> tuple[float, ...]:
        """Return the mean of each channel, in units where white is 1; 0 for features."""
        return self._pixel_statistics[0]

    @property
    def pixel_std(self) -> tuple[float, ...]:
        """Return the deviation of each channel, where white is 1; never 0, and 1 for features."""
        return self._pixel_statistics[1]

    @cached_property
    def _pixel_statistics(self) -> PixelStatistics:
        if self.pixels is not None:
            return self.pixels
        if self.train.pool.holds_features:
            # Features are used as they are: their scales carry meaning.
            channels = self.image_shape[0]
            return (0.0,) * channels, (1.0,) * channels
        # Only training images: normalisation must not use validation or novel classes.
        examples = self.train.examples
        size = min(_STATISTICS_IMAGES, len(examples))
        chosen = examples[np.linspace(0, len(examples) - 1, size).astype(np.int64)]
        values = np.arange(256) / 255
        counts = np.zeros((self.image_shape[0], 256), dtype=np.int64)
        for start in range(0, size, _IMAGES_AT_ONCE):
            part = self.train.pool.images[chosen[start : start + _IMAGES_AT_ONCE]]
            for channel, count in enumerate(counts):
                count += np.bincount(part[:, channel].ravel(), minlength=256)
        share = counts / counts.sum(axis=1, keepdims=True)  # (C, 256)
        mean = share @ values
        std = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
        std[std < 1e-6] = 1.0  # a constant channel is left as it is
        return tuple(mean.tolist()), tuple(std.tolist())


TaskSet = Literal["selection", "report"]


def common_tasks(
    benchmark: "Benchmark",
    split: str,
    task_set: TaskSet,
    tasks: int,
    shape: Shape,
    seed: int,
    *,
    others: TaskDistribution | None = None,
    replacement: bool = True,
) -> Episodes:
    """Draw the episodes on which every snapshot is measured.

    They are a function of the benchmark's fingerprint and the other arguments only: the same
    for every trial, epoch, method and process, so that every comparison can be paired.
    Snapshots are selected on one task set and reported on the other, drawn independently of it.

    No writer is in a set twice, and the two sets share none if there are enough: both use one
    random order of the writers, selection from its start and the report from its end.

    ``others`` stands in place of the benchmark's own split. Without replacement no example is in
    two tasks of a set, and there are at most ``tasks``.

    Raises:
        BadData: the split has too few classes, examples or writers, or its tasks cannot be drawn
            without replacement.
    """
    distribution = benchmark.distribution(split) if others is None else others
    numbers = [str(number) for number in (shape.way, shape.shot, shape.query, seed)]
    words = [benchmark.fingerprint, split, task_set, str(tasks), *numbers]
    if others is not None:
        words.append(others.digest())
    if not replacement:
        check_common(distribution, tasks, shape, replacement)
        assert isinstance(distribution, ClassTasks)
        assert isinstance(shape, EpisodeShape)
        rng = named_generator(None, *words, "without replacement")
        return distribution.sample_without_replacement(shape, rng, tasks)
    rng = named_generator(None, *words)
    if not isinstance(distribution, VaryingTasks):
        return distribution.sample(tasks, shape, rng)
    check_common(distribution, tasks, shape)
    people = named_generator(None, benchmark.fingerprint, split, "people", *numbers)
    order = people.permutation(distribution.count(shape))
    which = order[:tasks] if task_set == "selection" else order[::-1][:tasks]
    return distribution.take(which, shape, rng)
