"""MetaOptNet: a convex problem solved for each task, by ridge regression (RR) or an SVM.

Lee, Maji, Ravichandran, Soatto, "Meta-Learning with Differentiable Convex Optimization" (arXiv
1904.03758), sections 3.2 and 3.3: features not normalised, and a scale of the logits that is
trained from 1. "Two Sides of Meta-Learning Evaluation", appendix D.2, table 4, fixes the scale at 7
on FC100 (``scale: 7, learn_scale: false``).
"""

from typing import Annotated, final

from pydantic import Field, NonNegativeFloat, PositiveFloat

from fsl_sweep.learners.episodic import EpisodicOptions, ScaledLearner
from fsl_sweep.learners.heads import ridge, svm
from fsl_sweep.learners.shapes import Logits, Query, Support


class MetaOptNetOptions(EpisodicOptions):
    """Options of both learners, in addition to those of `EpisodicOptions`.

    Attributes:
        scale: factor of the logits; the initial one if it is learned.
        learn_scale: whether the scale is trained along with the backbone.
        label_smoothing: of the training loss, see `episode_loss`. The original's code passes 0.1 in
            some of its commands. The code of "Two Sides", whose text does not mention it, passes it
            for RR on mini-M and tiered-M only, and never for the SVM.
    """

    scale: PositiveFloat = 1.0
    learn_scale: bool = True
    label_smoothing: Annotated[float, Field(ge=0, lt=0.5)] = 0.0


class RidgeOptions(MetaOptNetOptions):
    """Options of `Ridge`: ``lam`` is the regularisation lambda of the regression."""

    lam: NonNegativeFloat = 50.0


@final
class Ridge(ScaledLearner):
    """Logits are scale * 2 Q S' (S S' + lambda I)^-1 Y for support S and queries Q.

    A task that cannot be solved (NaN features, or a singular kernel where lambda is 0) has NaN
    logits.
    """

    Options = RidgeOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        return self.scale * ridge.fit(support, self.options.lam).predict(query)


class SvmOptions(MetaOptNetOptions):
    """Options of `Svm`: ``C`` is the upper bound of an example's weight; small regularises much."""

    C: PositiveFloat = 0.1


@final
class Svm(ScaledLearner):
    """Logits are scale * Q S' A for support S, queries Q and A the solution of the SVM's dual.

    The SVM is the multi-class SVM of Crammer and Singer. A task that cannot be solved (NaN
    features) has NaN logits.
    """

    Options = SvmOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        return self.scale * svm.fit(support, self.options.C).predict(query)
