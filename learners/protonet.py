"""Prototypical Networks (PN): the nearest class mean, trained on episodes.

Snell, Swersky, Zemel, "Prototypical Networks for Few-shot Learning" (arXiv 1703.05175),
equations 1 and 2. The scale of 10 is that of "Two Sides of Meta-Learning Evaluation", appendix D.2,
table 4.
"""

from typing import Literal, final

import torch
from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.learners.heads.prototype import (
    cosine_similarities,
    prototypes,
    squared_distances,
)


class ProtonetOptions(EpisodicOptions):
    """Options of `Protonet`, beside those of `EpisodicOptions`.

    Attributes:
        scale: factor of the logits.
        metric: ``euclidean`` (squared distance over the feature length) or ``cosine``.
        learn_scale: whether the scale is trained along with the backbone.
    """

    scale: PositiveFloat = 10.0
    metric: Literal["euclidean", "cosine"] = "euclidean"
    learn_scale: bool = False


@final
class Protonet(EpisodicLearner):
    """Logits are -scale * squared distance / d, or scale * cosine, to each class's prototype."""

    Options = ProtonetOptions

    def __init__(self, backbone: Backbone, options: ProtonetOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.metric = options.metric
        self.scale = nn.Parameter(torch.tensor(options.scale), requires_grad=options.learn_scale)

    @classmethod
    def has_weights(cls, options: ProtonetOptions) -> bool:
        """A scale that is trained is the only one."""
        return options.learn_scale

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task."""
        check_support(support)
        centres = prototypes(support)
        if self.metric == "cosine":
            return self.scale * cosine_similarities(query, centres)
        return -self.scale * squared_distances(query, centres) / support.shape[-1]
