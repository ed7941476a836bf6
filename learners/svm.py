"""MetaOptNet with a support vector machine (SVM): a maximum-margin classifier for each task.

Lee, Maji, Ravichandran, Soatto, "Meta-Learning with Differentiable Convex Optimization" (arXiv
1904.03758), section 3.2: the multi-class SVM of Crammer and Singer with C 0.1, features not
normalised, and a scale of the logits that is trained from 1. "Two Sides of Meta-Learning
Evaluation", appendix D.2, table 4, fixes the scale at 7 on FC100 (``scale: 7, learn_scale:
false``).
"""

from typing import Annotated, final

import torch
from jaxtyping import Float
from pydantic import Field, PositiveFloat
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.episodic import EpisodicLearner, EpisodicOptions
from fsl_sweep.learners.heads import svm


class SvmOptions(EpisodicOptions):
    """Options of `Svm`, beside those of `EpisodicOptions`.

    Attributes:
        C: upper bound of an example's weight; the smaller, the more regularised.
        scale: factor of the logits; the initial one where it is learned.
        learn_scale: whether the scale is trained along with the backbone.
        label_smoothing: of the training loss, see `episode_loss`. The original's code passes 0.1 in
            some of its commands; that of "Two Sides", whose text does not say it, for RR on mini-M
            and tiered-M only, and never for the SVM.
    """

    C: PositiveFloat = 0.1
    scale: PositiveFloat = 1.0
    learn_scale: bool = True
    label_smoothing: Annotated[float, Field(ge=0, lt=0.5)] = 0.0


@final
class Svm(EpisodicLearner):
    """Logits are scale * Q S' A for support S, queries Q and A the solution of the SVM's dual.

    A task that cannot be solved (NaN features) has NaN logits.
    """

    Options = SvmOptions

    def __init__(self, backbone: Backbone, options: SvmOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.C = options.C
        self.label_smoothing = options.label_smoothing
        self.scale = nn.Parameter(torch.tensor(options.scale), requires_grad=options.learn_scale)

    @classmethod
    def has_weights(cls, options: SvmOptions) -> bool:
        """A scale that is trained is the only one."""
        return options.learn_scale

    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task.

        Raises:
            ValueError: the tasks have fewer than two classes.
        """
        return self.scale * svm.fit(support, self.C).predict(query)
