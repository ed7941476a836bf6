"""Logistic regression (LR) on frozen features, fitted to the support set of each task.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 2.2,
after Luo et al., "A Closer Look at Few-shot Classification Again" (arXiv 2301.12246) and its
released code: multinomial, on unit-norm features, with scikit-learn's default penalty C = 1.
"""

from typing import final

from pydantic import PositiveFloat

from fsl_sweep.learners.heads import logistic
from fsl_sweep.learners.pretrained import FrozenFeatures, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Query, Support


class LogisticOptions(PretrainedOptions):
    """Options of `Logistic`: ``C`` is the inverse strength of the penalty, as in scikit-learn."""

    C: PositiveFloat = 1.0


@final
class Logistic(FrozenFeatures):
    """Logits are those of a penalised multinomial logistic regression on the support.

    A task that cannot be fitted (NaN features) has NaN logits.
    """

    Options = LogisticOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task; not differentiable."""
        return logistic.fit(support, self.options.C).predict(query)
