"""MetaOptNet with ridge regression (RR): a linear regressor solved for each task.

Lee, Maji, Ravichandran, Soatto, "Meta-Learning with Differentiable Convex Optimization" (arXiv
1904.03758), section 3.3: lambda 50, one-hot targets, features not normalised, and a scale of the
logits that is trained from 1. "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4, fixes
the scale at 7 on FC100 (``scale: 7, learn_scale: false``).
"""

from typing import Annotated, final

import torch
from jaxtyping import Float
from pydantic import Field, NonNegativeFloat, PositiveFloat
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.learners.heads import ridge


class RidgeOptions(EpisodicOptions):
    """Options of `Ridge`, beside those of `EpisodicOptions`.

    Attributes:
        lam: regularisation lambda of the regression.
        scale: factor of the logits; the initial one where it is learned.
        learn_scale: whether the scale is trained along with the backbone.
        label_smoothing: of the training loss, see `episode_loss`. The original's code passes 0.1 in
            some of its commands; that of "Two Sides", whose text does not say it, for RR on mini-M
            and tiered-M only.
    """

    lam: NonNegativeFloat = 50.0
    scale: PositiveFloat = 1.0
    learn_scale: bool = True
    label_smoothing: Annotated[float, Field(ge=0, lt=0.5)] = 0.0


@final
class Ridge(EpisodicLearner):
    """Logits are scale * 2 Q S' (S S' + lambda I)^-1 Y for support S and queries Q.

    A task that cannot be solved (NaN features, or a singular kernel where lambda is 0) has NaN
    logits.
    """

    Options = RidgeOptions

    def __init__(self, backbone: Backbone, options: RidgeOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.lam = options.lam
        self.label_smoothing = options.label_smoothing
        self.scale = nn.Parameter(torch.tensor(options.scale), requires_grad=options.learn_scale)

    @classmethod
    def has_weights(cls, options: RidgeOptions) -> bool:
        """A scale that is trained is the only one."""
        return options.learn_scale

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task."""
        check_support(support)
        return self.scale * ridge.fit(support, self.lam).predict(query)
