"""The supervised baseline (SB): an image classifier whose features are used as they are.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 4: features projected to unit norm,
logits over all base classes times 10; tested by the nearest class mean in Euclidean distance. The
idea is Chen et al., "A Closer Look at Few-shot Classification" (arXiv 1904.04232).
"""

from typing import ClassVar, final

from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.heads.prototype import prototypes, squared_distances
from fsl_sweep.learners.options import Options


class SupervisedOptions(Options):
    """Options of `Supervised`: ``scale`` multiplies the logits, in training and in test."""

    scale: PositiveFloat = 10.0


@final
class Supervised(EmbeddingLearner[LabelledBatch]):
    """A linear classifier over all base classes in training, nearest prototype in test."""

    Options = SupervisedOptions
    trains_on: ClassVar[TrainsOn] = "batches"

    def __init__(self, backbone: Backbone, options: SupervisedOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, n_base_classes)
        self.scale = options.scale

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm, float32 at least."""
        return normalize(at_least_float32(self.backbone(images)), dim=-1)

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits -scale * squared distance to the mean of the class's unit-norm features."""
        return -self.scale * squared_distances(query, prototypes(support))

    def training_loss(self, batch: LabelledBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy over the images, among all base classes."""
        logits = self.scale * self.classifier(self.embed(batch.images))
        return cross_entropy(logits, batch.labels)
