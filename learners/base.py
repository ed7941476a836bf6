"""What every learner is: the contract that training and evaluation rely on.

    Learner
    |-- GradientLearner            has a training loss
    |   |-- EmbeddingLearner       a backbone and a head over features (``embed``, ``head``)
    |   |   `-- EpisodicLearner    ... trained on episodes with that head (episodic.py)
    |   |-- AdaptationLearner      changes weights for each task (``predict``)
    |   `-- ClassificationLearner  answers among all base classes (``classify``)
    `-- Metadl                     a program that trains itself (metadl/learner.py)

A class is either abstract (these) or final (the methods).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, Literal, TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import (
    Features,
    Images,
    Logits,
    Loss,
    Query,
    QueryImages,
    Support,
    SupportImages,
)

BatchT = TypeVar("BatchT", EpisodeBatch, LabelledBatch)
TrainsOn = Literal["episodes", "batches", "batches, then episodes"]


class Learner(nn.Module, ABC, Generic[BatchT]):
    """A few-shot learner: weights to meta-train, and a rule that turns a support set into answers.

    Every learner is constructed as ``cls(backbone, options, n_base_classes)``.

    Attributes:
        Options: the learner's own options in a sweep file.
        trains_on: ``episodes`` (an `EpisodeBatch` a step), ``batches`` (a `LabelledBatch`), or
            ``batches, then episodes`` for the last epochs.
        takes_ragged: whether it trains on `RaggedEpisodes` too, whose tasks differ in shape.
    """

    Options: ClassVar[type[Options]]
    trains_on: ClassVar[TrainsOn]
    takes_ragged: ClassVar[bool] = False
    options: Any

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:  # noqa: ARG002 - for subclasses
        super().__init__()
        self.options = options

    @classmethod
    def fixed_way(cls, options: Any) -> int | None:  # noqa: ARG003 - for those that depend on them
        """Return the only number of ways that a learner with these options answers; None is any."""
        return None

    @classmethod
    def trained_on(cls, options: Any) -> TrainsOn:  # noqa: ARG003 - for those that depend on them
        """Return what a learner with these options trains on; by default ``trains_on``."""
        return cls.trains_on

    @classmethod
    def has_weights(cls, options: Any) -> bool:  # noqa: ARG003 - for those that depend on them
        """Tell whether its logits depend on trained weights besides the backbone's.

        If neither it nor its backbone has any, it is measured as it was built.
        """
        return True

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 - for those that depend on them
        """Tell whether untrained it answers by numbers of its own that it drew when it was built.

        If not, no seed changes what it answers from weights that are given: one seed is planned.
        """
        return True

    @classmethod
    def unsuited(cls, options: Any, backbone: BackboneOptions) -> str | None:  # noqa: ARG003 - as above
        """Say why it does not suit a backbone of these options, and what to write; else None."""
        return None


class GradientLearner(Learner[BatchT]):
    """A learner that the trial trains, by gradient steps on its loss."""

    @abstractmethod
    def training_loss(self, batch: BatchT) -> Loss:
        """Return the mean cross-entropy (nats) of a training batch, to be differentiated."""


class EmbeddingLearner(GradientLearner[BatchT]):
    """A learner that answers from features only, so that a pool is embedded once.

    Attributes:
        backbone: whose features they are, unless the learner has its own ``embed``. Those of a
            frozen backbone are computed once for all learners.
    """

    backbone: Backbone

    def embed(self, images: Images) -> Features:
        """Compute features of normalised images, as `head` expects them."""
        return self.from_backbone(self.backbone(images))

    def from_backbone(self, features: Features) -> Features:
        """Turn features of the backbone into those of `embed`; by default they are the same."""
        return features

    @abstractmethod
    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task, from features of `embed`."""


class AdaptationLearner(GradientLearner[BatchT]):
    """A learner whose weights change with each task; it is measured on images."""

    @abstractmethod
    def predict(self, support: SupportImages, query: QueryImages) -> Logits:
        """Compute logits of each query after adapting to its task's support, changing no weights.

        Called in evaluation mode, and outside `torch.inference_mode`, whose tensors cannot be
        differentiated. The logits carry no gradient.

        Raises:
            ValueError: as `check_support`, or it cannot answer tasks of so many ways.
        """


class ClassificationLearner(GradientLearner[BatchT]):
    """A learner that answers among all base classes and ignores a task's support.

    It is measured on images of the base classes only, which an in-distribution benchmark has.
    """

    @abstractmethod
    def classify(self, images: Images) -> Float[Tensor, "n classes"]:
        """Compute logits of normalised images for every base class, in the order of the labels."""
