"""Logistic regression (LR) on frozen features, fitted to the support set of each task.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 2.2,
after Luo et al., "A Closer Look at Few-shot Classification Again" (arXiv 2301.12246) and its
released code: multinomial, on unit-norm features, with scikit-learn's default penalty C = 1.
"""

from typing import final

from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads import logistic
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions


class LogisticOptions(PretrainedOptions):
    """Options of `Logistic`.

    Attributes:
        scale: multiplies the logits over base classes in training.
        C: inverse strength of the penalty on the weights, as in scikit-learn.
    """

    C: PositiveFloat = 1.0


@final
class Logistic(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Logits are those of a penalised multinomial logistic regression on the support.

    A task that cannot be fitted (NaN features) has NaN logits.
    """

    Options = LogisticOptions

    def __init__(self, backbone: Backbone, options: LogisticOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.C = options.C

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm."""
        return self.unit_features(images)

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task; not differentiable."""
        check_support(support)
        return logistic.fit(support, self.C).predict(query)
