"""What a learner trains on: episodes, of one shape or of several, or labelled images."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class EpisodeBatch:
    """Normalised and augmented images of several tasks of one shape; class i is ``[:, i]``."""

    support: Float[Tensor, "task way shot c h w"]
    query: Float[Tensor, "task way query c h w"]


@dataclass(frozen=True)
class LabelledBatch:
    """Normalised and augmented images, and their classes as int64 in 0 .. n_base_classes - 1."""

    images: Float[Tensor, "n c h w"]
    labels: Int[Tensor, " n"]


def check_support(way: int, shot: int) -> None:
    """Raise ValueError unless there are classes to tell apart, and examples of each."""
    if way < 2 or shot < 1:
        raise ValueError(
            "A support set needs at least 2 classes with at least 1 example each; "
            f"this one has {way} classes with {shot} examples."
        )


@dataclass(frozen=True)
class EpisodeGroup:
    """Tasks of a `RaggedEpisodes` with equally many classes, and equally many queries in all.

    Attributes:
        support: int64 rows of the support images.
        query: int64 rows of the query images.
        target: int64, the class of each query within its task, 0 .. way - 1.
    """

    support: Int[Tensor, "task way shot"]
    query: Int[Tensor, "task m"]
    target: Int[Tensor, "task m"]


@dataclass(frozen=True)
class RaggedEpisodes:
    """Images of tasks that differ in their numbers of classes and queries, grouped by shape."""

    support: Float[Tensor, "s c h w"]
    query: Float[Tensor, "q c h w"]
    groups: tuple[EpisodeGroup, ...]
