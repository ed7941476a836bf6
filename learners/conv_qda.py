"""A convolutional network under quadratic discriminant analysis, trained on episodes.

The third place of "Advances in MetaDL: AAAI 2021 challenge and workshop", section 4.4, team MIG
Edinburgh. The section gives the classifier and the training; the shrinkage of the covariances,
without which one example a class has none, is ours.
"""

from typing import Annotated, final

from jaxtyping import Float
from pydantic import Field, PositiveFloat
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.learners.heads.gaussian import log_densities


class ConvQdaOptions(EpisodicOptions):
    """Options of `ConvQda`, beside those of `EpisodicOptions`.

    Attributes:
        shrinkage: weight of the identity in each class's covariance, above 0.
        scale: factor of the logits; 1 gives the posterior of the model.
    """

    shrinkage: Annotated[float, Field(gt=0, le=1)] = 0.5
    scale: PositiveFloat = 1.0


@final
class ConvQda(EpisodicLearner):
    """Logits are scale * log density of the query under each class's Gaussian."""

    Options = ConvQdaOptions

    def __init__(self, backbone: Backbone, options: ConvQdaOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.shrinkage, self.scale = options.shrinkage, options.scale

    @classmethod
    def has_weights(cls, options: ConvQdaOptions) -> bool:  # noqa: ARG003 (an interface)
        """None: the Gaussians are the support's."""
        return False

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task."""
        check_support(support)
        return self.scale * log_densities(support, query, self.shrinkage)
