"""Nearest class centroid (NCC): the cheapest adaptation of frozen features.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 2.2,
after Luo et al., "A Closer Look at Few-shot Classification Again" (arXiv 2301.12246) and its
released code: the centroid is the mean of the unit-norm features, and the logits are 10 times the
cosine to it.
"""

from typing import final

from fsl_sweep.learners.heads.prototype import cosine_similarities, prototypes
from fsl_sweep.learners.pretrained import FrozenFeatures, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Query, Support


@final
class Ncc(FrozenFeatures):
    """Logits are scale * cosine to the mean of each class's unit-norm features.

    The option ``scale`` multiplies the logits of training too.
    """

    Options = PretrainedOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task."""
        return self.options.scale * cosine_similarities(query, prototypes(support))
