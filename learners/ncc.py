"""Nearest class centroid (NCC): the cheapest adaptation of frozen features.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 2.2,
after Luo et al., "A Closer Look at Few-shot Classification Again" (arXiv 2301.12246) and its
released code: the centroid is the mean of the unit-norm features, and the logits are 10 times the
cosine to it.
"""

from typing import final

from jaxtyping import Float
from torch import Tensor

from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.prototype import cosine_similarities, prototypes
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions


class NccOptions(PretrainedOptions):
    """Options of `Ncc`: ``scale`` multiplies the logits, in training and in test."""


@final
class Ncc(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Logits are scale * cosine to the mean of each class's unit-norm features."""

    Options = NccOptions

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm."""
        return self.unit_features(images)

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task."""
        check_support(support)
        return self.scale * cosine_similarities(query, prototypes(support))
