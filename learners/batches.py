"""What a learner trains on: episodes, of one shape or of several, or labelled images."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class EpisodeBatch:
    """Support and query images of several tasks of one episode shape.

    Attributes:
        support: normalised and augmented images, ``[task, way, shot, c, h, w]``.
        query: the same, ``[task, way, query, c, h, w]``; queries of class i are ``[:, i]``.
    """

    support: Float[Tensor, "task way shot c h w"]
    query: Float[Tensor, "task way query c h w"]


@dataclass(frozen=True)
class LabelledBatch:
    """Images with the number of their class.

    Attributes:
        images: normalised and augmented images, ``[n, c, h, w]``.
        labels: int64 ``[n]`` in 0 .. n_base_classes - 1.
    """

    images: Float[Tensor, "n c h w"]
    labels: Int[Tensor, " n"]


def check_support(support: Float[Tensor, "task way shot ..."]) -> None:
    """Checks that there are classes to tell apart, and examples of each.

    Raises:
        ValueError: the tasks have only one class, or classes without an example.
    """
    way, shot = support.shape[1:3]
    if way < 2 or shot < 1:
        raise ValueError(
            "A support set needs at least 2 classes with at least 1 example each; "
            f"this one has {way} classes with {shot} examples."
        )


@dataclass(frozen=True)
class EpisodeGroup:
    """Tasks of a `RaggedEpisodes` with equally many classes, and equally many queries in all.

    Attributes:
        support: int64 ``[task, way, shot]``, rows of the support images.
        query: int64 ``[task, m]``, rows of the query images.
        target: int64 ``[task, m]``, the class of each query within its task, 0 .. way - 1.
    """

    support: Int[Tensor, "task way shot"]
    query: Int[Tensor, "task m"]
    target: Int[Tensor, "task m"]


@dataclass(frozen=True)
class RaggedEpisodes:
    """Several tasks that differ in their numbers of classes and queries.

    Attributes:
        support: normalised and augmented support images of all tasks, ``[s, c, h, w]``.
        query: the same for query images, ``[q, c, h, w]``.
        groups: the tasks, grouped by shape.
    """

    support: Float[Tensor, "s c h w"]
    query: Float[Tensor, "q c h w"]
    groups: tuple[EpisodeGroup, ...]
