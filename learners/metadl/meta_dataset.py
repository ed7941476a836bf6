"""Data as the MetaDL challenge of 2021 gave it to programs: NumPy arrays, channels last.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2, and the challenge's released
code, whose pipelines are those of Meta-Dataset: images float32 ``[n, h, w, c]`` with values from
-1 to 1, labels int64 ``[n]``. Its TensorFlow data sets are plain iterables here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.orchestrator.errors import TrialFailure

Mode = Literal["episode", "batch"]
Images = Float[np.ndarray, "n h w c"]
Labels = Int[np.ndarray, " n"]


class Episode(NamedTuple):
    """One training task, with Meta-Dataset's six places.

    Labels count the task's classes from 0; ``*_classes`` count the base classes from 0.
    """

    support_images: Images
    support_labels: Labels
    support_classes: Labels
    query_images: Images
    query_labels: Labels
    query_classes: Labels


class Batch(NamedTuple):
    """Images of any base classes, whose labels count the base classes from 0."""

    images: Images
    labels: Labels


@dataclass
class OnePass:
    """An iterable that gives each item once, however often it is iterated.

    To iterate it after its last item raises TrialFailure: a program that trains until it has made
    enough passes would otherwise never end.
    """

    items: Iterator[Any]
    ended: bool = False

    def __iter__(self) -> Iterator[Any]:
        if self.ended:
            raise TrialFailure(
                "meta_fit asked for more training data than the epoch has: it was given all of "
                "its `batches` once. Raise `batches`, or let meta_fit make one pass."
            )
        return self

    def __next__(self) -> Any:
        try:
            return next(self.items)
        except StopIteration:
            self.ended = True
            raise


@dataclass(frozen=True)
class Passes:
    """An iterable that draws new items in every pass."""

    draw: Callable[[], Iterator[Any]]

    def __iter__(self) -> Iterator[Any]:
        return self.draw()


@dataclass(frozen=True)
class MetaDataset:
    """What ``meta_fit`` is given: the challenge's generator object.

    Attributes:
        meta_train_pipeline: ``(Episode, 0)`` in episode mode and ``(Batch, 0)`` in batch mode; the
            second place is the challenge's number of the data source. It ends with the epoch.
        meta_valid_pipeline: ``(Episode, 0)`` of the shape that snapshots are measured with, also
            drawn from the training examples: the validation classes are kept for ValGen.
        n_classes: how many base classes there are.
        image_shape: height, width and channels.
    """

    meta_train_pipeline: Iterable[tuple[Any, int]]
    meta_valid_pipeline: Iterable[tuple[Episode, int]]
    mode: Mode
    n_classes: int
    image_shape: tuple[int, int, int]


SupportSet = Iterable[tuple[Images, Labels]]
"""What ``fit`` is given: iterable as often as needed, in one batch ``(images, labels)``."""
QuerySet = Iterable[Images]
"""What ``predict`` is given: iterable as often as needed, in one batch of images."""


@dataclass(frozen=True, eq=False)
class ProgramTask:
    """One task to answer; ``seed`` is of everything that the program draws for it."""

    support: tuple[tuple[Images, Labels]]
    queries: tuple[Images]
    way: int
    seed: int

    @classmethod
    def of(
        cls, support: Float[Tensor, "way shot c h w"], query: Float[Tensor, "m c h w"], seed: int
    ) -> "ProgramTask":
        """Make the task of images with values in [0, 1]."""
        way, shot = support.shape[:2]
        labels = np.arange(way).repeat(shot)
        return cls(((challenge_images(support), labels),), (challenge_images(query),), way, seed)


def challenge_images(unit: Float[Tensor, "*n c h w"]) -> Images:
    """Convert images with values in [0, 1] to the challenge's form."""
    flat = unit.reshape(-1, *unit.shape[-3:])
    return np.ascontiguousarray((2 * flat - 1).permute(0, 2, 3, 1).cpu().numpy())
