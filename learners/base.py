"""What every learner is: the contract that training and evaluation rely on.

    Learner                    has a training loss
    |-- EmbeddingLearner       a backbone and a head over features (``embed``, ``head``)
    |   `-- EpisodicLearner    ... trained on episodes with that head (episodic.py)
    `-- AdaptationLearner      changes weights for each task (``predict``)

A class is either abstract (these) or final (one file for each method). Every learner is
constructed as ``cls(backbone, options, n_base_classes)``.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Literal, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.options import Options

BatchT = TypeVar("BatchT", EpisodeBatch, LabelledBatch)
TrainsOn = Literal["episodes", "batches", "batches, then episodes"]

__all__ = [
    "AdaptationLearner",
    "EmbeddingLearner",
    "EpisodeBatch",
    "LabelledBatch",
    "Learner",
    "TrainsOn",
]


class Learner(nn.Module, ABC, Generic[BatchT]):
    """A few-shot learner: weights to meta-train, and a rule that turns a support set into answers.

    Attributes:
        Options: the learner's own options in a sweep file.
        trains_on: ``episodes`` (an `EpisodeBatch` a step), ``batches`` (a `LabelledBatch`), or
            ``batches, then episodes`` for the last epochs.
            It is not called ``training``, because that is how torch tells training from
            evaluation mode.
        takes_ragged: whether it trains on `RaggedEpisodes` too, whose tasks differ in shape.
    """

    Options: ClassVar[type[Options]]
    trains_on: ClassVar[TrainsOn]
    takes_ragged: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__()

    @classmethod
    def fixed_way(cls, options: Any) -> int | None:  # noqa: ARG003 - for those that depend on them
        """The only number of ways that a learner with these options answers; None is any."""
        return None

    @abstractmethod
    def training_loss(self, batch: BatchT) -> Float[Tensor, ""]:
        """Mean cross-entropy (nats) of a training batch, to be differentiated."""


class EmbeddingLearner(Learner[BatchT]):
    """A learner that answers from features alone, so that a pool is embedded once."""

    @abstractmethod
    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of normalised images, as `head` expects them."""

    @abstractmethod
    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task, from features of `embed`."""


class AdaptationLearner(Learner[BatchT]):
    """A learner whose weights change with each task; it is measured on images."""

    @abstractmethod
    def predict(
        self,
        support: Float[Tensor, "task way shot c h w"],
        query: Float[Tensor, "task m c h w"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query after adapting to its task's support; the weights stay as is.

        Called in evaluation mode and outside of `torch.inference_mode`, whose tensors have no
        gradients. The logits have none either.
        """
