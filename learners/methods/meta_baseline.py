"""Meta-Baseline (MB): a classifier first, then its features trained on episodes.

Chen, Liu, Xu, Darrell, Wang, "Meta-Baseline: Exploring Simple Meta-Learning for Few-Shot Learning"
(arXiv 2003.04390), equations 1 to 3: whole classification, then meta-learning over cosine
similarities to class centroids with a temperature that is trained from 10. "Two Sides of
Meta-Learning Evaluation", appendix D.2, table 4: features projected to unit norm, a scale of 10,
and 30 epochs of meta-learning at the end.
"""

from typing import Any, ClassVar, final

import torch
from pydantic import PositiveFloat
from torch import nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch, LabelledBatch, RaggedEpisodes
from fsl_sweep.learners.episodic import EpisodicOptions, episode_loss
from fsl_sweep.learners.heads.prototype import cosine_similarities, prototypes
from fsl_sweep.learners.pretrained import FrozenFeatures, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Loss, Query, Support


class MetaBaselineOptions(PretrainedOptions, EpisodicOptions):
    """Options of `MetaBaseline`; ``scale`` is for the first stage, ``passes`` for the second.

    Attributes:
        temperature: factor of the cosines at the first episode.
        learn_temperature: whether it is trained along with the backbone.
    """

    temperature: PositiveFloat = 10.0
    learn_temperature: bool = True


@final
class MetaBaseline(FrozenFeatures):
    """Trained as the supervised baseline, then on episodes; tested by cosine to class centroids.

    The batch decides what a step trains: labelled images the classifier, episodes the temperature,
    and both the backbone.
    """

    Options = MetaBaselineOptions
    trains_on: ClassVar[TrainsOn] = "batches, then episodes"
    takes_ragged: ClassVar[bool] = True

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.temperature = nn.Parameter(
            torch.tensor(options.temperature), requires_grad=options.learn_temperature
        )

    @classmethod
    def has_weights(cls, options: MetaBaselineOptions) -> bool:
        """Tell whether the temperature is trained."""
        return options.learn_temperature

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the temperature is an option."""
        return False

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits temperature * cosine to the mean of the class's unit-norm features."""
        return self.temperature * cosine_similarities(query, prototypes(support))

    def training_loss(self, batch: EpisodeBatch | RaggedEpisodes | LabelledBatch) -> Loss:
        """Return the mean cross-entropy: among all base classes, or within each episode."""
        if isinstance(batch, EpisodeBatch | RaggedEpisodes):
            return episode_loss(self, batch, self.options.passes)
        return super().training_loss(batch)
