"""Meta-Baseline (MB): a classifier first, then its features trained on episodes.

Chen, Liu, Xu, Darrell, Wang, "Meta-Baseline: Exploring Simple Meta-Learning for Few-Shot Learning"
(arXiv 2003.04390), equations 1 to 3: whole classification, then meta-learning over cosine
similarities to class centroids with a temperature that is trained from 10. "Two Sides of
Meta-Learning Evaluation", appendix D.2, table 4: features projected to unit norm, a scale of 10,
and 30 epochs of meta-learning at the end.
"""

from typing import ClassVar, final

import torch
from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import (
    EpisodeBatch,
    LabelledBatch,
    RaggedEpisodes,
    check_support,
)
from fsl_sweep.learners.episodic import EpisodicOptions, Passes, episode_loss
from fsl_sweep.learners.heads.prototype import cosine_similarities, prototypes
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions


class MetaBaselineOptions(PretrainedOptions, EpisodicOptions):
    """Options of `MetaBaseline`, beside ``scale`` of the first stage and ``passes`` of the second.

    Attributes:
        temperature: factor of the cosines when episodes begin.
        learn_temperature: whether it is trained along with the backbone.
    """

    temperature: PositiveFloat = 10.0
    learn_temperature: bool = True


@final
class MetaBaseline(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Trained as the supervised baseline, then on episodes; tested by cosine to class centroids.

    What a step trains follows from the batch that it is given: the classifier on labelled images,
    the temperature on episodes, and the backbone on both.
    """

    Options = MetaBaselineOptions
    trains_on: ClassVar[TrainsOn] = "batches, then episodes"
    takes_ragged: ClassVar[bool] = True

    def __init__(
        self, backbone: Backbone, options: MetaBaselineOptions, n_base_classes: int
    ) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.passes: Passes = options.passes
        self.temperature = nn.Parameter(
            torch.tensor(options.temperature), requires_grad=options.learn_temperature
        )

    @classmethod
    def has_weights(cls, options: MetaBaselineOptions) -> bool:
        """A temperature that is trained is the only one."""
        return options.learn_temperature

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm, float32 at least."""
        return self.unit_features(images)

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits temperature * cosine to the mean of the class's unit-norm features."""
        check_support(support)
        return self.temperature * cosine_similarities(query, prototypes(support))

    def training_loss(
        self, batch: EpisodeBatch | RaggedEpisodes | LabelledBatch
    ) -> Float[Tensor, ""]:
        """Mean cross-entropy: among all base classes, or within each episode."""
        if isinstance(batch, EpisodeBatch | RaggedEpisodes):
            return episode_loss(self, batch, self.passes)
        return super().training_loss(batch)
