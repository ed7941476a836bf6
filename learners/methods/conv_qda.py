"""A convolutional network under quadratic discriminant analysis, trained on episodes.

The third place of "Advances in MetaDL: AAAI 2021 challenge and workshop", section 4.4, team MIG
Edinburgh. The section gives the classifier and the training; the shrinkage of the covariances,
without which one example a class has none, is ours.
"""

from typing import Annotated, Any, final

from pydantic import Field, PositiveFloat

from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.learners.heads.prototype import log_densities
from fsl_sweep.learners.shapes import Logits, Query, Support


class ConvQdaOptions(EpisodicOptions):
    """Options of `ConvQda`, in addition to those of `EpisodicOptions`.

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

    @classmethod
    def has_weights(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the Gaussians are the support's."""
        return False

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the Gaussians are the support's."""
        return False

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        return self.options.scale * log_densities(support, query, self.options.shrinkage)
