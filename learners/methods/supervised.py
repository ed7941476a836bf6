"""The supervised baseline (SB): an image classifier whose features are used as they are.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 4: features projected to unit norm,
logits over all base classes times 10; tested by the nearest class mean in Euclidean distance. The
idea is Chen et al., "A Closer Look at Few-shot Classification" (arXiv 1904.04232).
"""

from typing import final

from fsl_sweep.learners.heads.prototype import prototypes, squared_distances
from fsl_sweep.learners.pretrained import FrozenFeatures, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Query, Support


@final
class Supervised(FrozenFeatures):
    """A linear classifier over all base classes in training, nearest prototype in test.

    The option ``scale`` multiplies the logits in both.
    """

    Options = PretrainedOptions

    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits -scale * squared distance to the mean of a class's unit-norm features."""
        return -self.options.scale * squared_distances(query, prototypes(support))
