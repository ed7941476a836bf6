"""Prototypes to which each query contributes by its probability of being of the class.

Kye et al., "Meta-Learned Confidence for Few-shot Learning" (arXiv 2002.12017), equations 5 and 6,
without learned parameters, as the released code of MetaDelta does (arXiv 2102.10744): unit-norm
features, a softmax over negative squared distances to unit-norm prototypes, ten refinements.
"""

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.shapes import Logits, Query, Support

ROUNDS = 10


def soft_prototype_probabilities(support: Support, query: Query) -> Logits:
    """Return each class's probability for each query, which depends on the other queries."""
    with full_precision(query.device):
        support = normalize(at_least_float32(support), dim=-1)
        query = normalize(at_least_float32(query), dim=-1)
        total = support.sum(dim=2)  # [task, way, d]
        chances = _probabilities(query, total)
        for _ in range(ROUNDS):
            # The mean of support and weighted queries; its length does not matter.
            chances = _probabilities(query, total + chances @ query)
        return chances.mT


def _probabilities(query: Tensor, towards: Tensor) -> Float[Tensor, "task way m"]:
    # Without the query's squared length, which is common to all its distances. Classes come before
    # queries because softmax along a few neighbours in memory is slow.
    centres = normalize(towards, dim=-1)
    distances = centres.square().sum(dim=-1, keepdim=True) - 2 * centres @ query.mT
    return (-distances).softmax(dim=1)
