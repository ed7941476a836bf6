"""Prototypical Networks (PN): the nearest class mean, trained on episodes.

Snell, Swersky, Zemel, "Prototypical Networks for Few-shot Learning" (arXiv 1703.05175),
equations 1 and 2. The scale of 10 is that of "Two Sides of Meta-Learning Evaluation", appendix D.2,
table 4.
"""

from typing import Literal, final

from pydantic import PositiveFloat

from fsl_sweep.learners.episodic import EpisodicOptions, ScaledLearner
from fsl_sweep.learners.heads.prototype import cosine_similarities, prototypes, squared_distances
from fsl_sweep.learners.shapes import Logits, Query, Support


class ProtonetOptions(EpisodicOptions):
    """Options of `Protonet`, in addition to those of `EpisodicOptions`.

    Attributes:
        scale: factor of the logits.
        metric: ``euclidean`` (squared distance over the feature length) or ``cosine``.
        learn_scale: whether the scale is trained along with the backbone.
    """

    scale: PositiveFloat = 10.0
    metric: Literal["euclidean", "cosine"] = "euclidean"
    learn_scale: bool = False


@final
class Protonet(ScaledLearner):
    """Logits are -scale * squared distance / d, or scale * cosine, to each class's prototype."""

    Options = ProtonetOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        centres = prototypes(support)
        if self.options.metric == "cosine":
            return self.scale * cosine_similarities(query, centres)
        return -self.scale * squared_distances(query, centres) / support.shape[-1]
