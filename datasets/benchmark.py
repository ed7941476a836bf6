"""A benchmark: four task distributions over image pools."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from fsl_sweep.datasets.pool import canonical_digest
from fsl_sweep.datasets.tasks import TaskDistribution
from fsl_sweep.orchestrator.errors import BadData

SplitName = Literal["train", "base", "val", "novel"]
SPLITS: tuple[SplitName, ...] = ("train", "base", "val", "novel")

_STATISTICS_IMAGES = 2000


@dataclass(frozen=True)
class SplitCounts:
    """How many classes and images a split may draw."""

    classes: int
    images: int


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

    Raises:
        BadData: an example of ``train`` is in ``base``, or the pools' image shapes differ.
    """

    name: str
    train: TaskDistribution
    base: TaskDistribution
    val: TaskDistribution
    novel: TaskDistribution
    fingerprint: str

    def __post_init__(self) -> None:
        shapes = {self.distribution(split).pool.image_shape for split in SPLITS}
        if len(shapes) > 1:
            raise BadData(f"The splits of '{self.name}' have images of several shapes: {shapes}.")
        same_pool = self.train.pool.fingerprint == self.base.pool.fingerprint
        if same_pool and np.intersect1d(self.train.examples, self.base.examples).size:
            raise BadData(f"'{self.name}' measures BaseGen on examples that it trains on.")

    @classmethod
    def of(
        cls,
        name: str,
        train: TaskDistribution,
        base: TaskDistribution,
        val: TaskDistribution,
        novel: TaskDistribution,
    ) -> "Benchmark":
        """A benchmark with its fingerprint, which does not depend on its name."""
        splits = {"train": train, "base": base, "val": val, "novel": novel}
        fingerprint = canonical_digest({key: split.digest() for key, split in splits.items()})
        return cls(name, train, base, val, novel, fingerprint)

    def distribution(self, split: str) -> TaskDistribution:
        """The task distribution called ``train``, ``base``, ``val`` or ``novel``.

        Raises:
            ValueError: another name.
        """
        if split not in SPLITS:
            raise ValueError(f"a split is one of {', '.join(SPLITS)}, not {split!r}")
        return getattr(self, split)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of every image."""
        return self.train.pool.image_shape

    @property
    def counts(self) -> dict[SplitName, SplitCounts]:
        """Classes and images of each split."""
        return {
            split: SplitCounts(
                len(self.distribution(split).classes), len(self.distribution(split).examples)
            )
            for split in SPLITS
        }

    @property
    def pixel_mean(self) -> tuple[float, ...]:
        """Mean of each channel, in units where white is 1."""
        return self._pixel_statistics[0]

    @property
    def pixel_std(self) -> tuple[float, ...]:
        """Standard deviation of each channel, in units where white is 1; never 0."""
        return self._pixel_statistics[1]

    @cached_property
    def _pixel_statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        # Training images alone: normalisation must not look at validation or novel classes.
        examples = self.train.examples
        size = min(_STATISTICS_IMAGES, len(examples))
        chosen = examples[np.linspace(0, len(examples) - 1, size).astype(np.int64)]
        images = self.train.pool.images[chosen].astype(np.float64) / 255
        std = images.std(axis=(0, 2, 3))
        std[std < 1e-6] = 1.0  # a constant channel is left as it is
        return tuple(images.mean(axis=(0, 2, 3)).tolist()), tuple(std.tolist())
