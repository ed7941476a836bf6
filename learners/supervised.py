"""The supervised baseline (SB): an image classifier whose features are used as they are.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 4: features projected to unit norm,
logits over all base classes times 10; tested by the nearest class mean in Euclidean distance. The
idea is Chen et al., "A Closer Look at Few-shot Classification" (arXiv 1904.04232).
"""

from typing import final

from jaxtyping import Float
from torch import Tensor

from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.prototype import prototypes, squared_distances
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions


class SupervisedOptions(PretrainedOptions):
    """Options of `Supervised`: ``scale`` multiplies the logits, in training and in test."""


@final
class Supervised(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """A linear classifier over all base classes in training, nearest prototype in test."""

    Options = SupervisedOptions

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm, float32 at least."""
        return self.unit_features(images)

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits -scale * squared distance to the mean of the class's unit-norm features."""
        check_support(support)
        return -self.scale * squared_distances(query, prototypes(support))
