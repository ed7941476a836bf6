"""Class prototypes and the distances to them, soft prototypes, and a Gaussian for each class.

Prototypical Networks (arXiv 1703.05175), equations 1 and 2.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.shapes import Logits, Query, Support

ROUNDS = 10
Centres = Float[Tensor, "task way d"]


def prototypes(support: Support) -> Centres:
    """Average each class's support (equation 1), in float32 at least; see `check_support`."""
    check_support(*support.shape[1:3])
    return at_least_float32(support).mean(dim=2)


def squared_distances(query: Query, centres: Centres) -> Logits:
    """Return the squared distance of each query to each centre of its task, never negative.

    Computed as |q|^2 - 2 q.c + |c|^2, which needs no ``[task, m, way, d]`` tensor. All are first
    shifted by the mean of the centres, which reduces the rounding error of the difference.
    """
    with full_precision(query.device):
        origin = centres.mean(dim=1, keepdim=True)
        query, centres = at_least_float32(query) - origin, centres - origin
        query_norm = query.square().sum(-1).unsqueeze(-1)  # [task, m, 1]
        centre_norm = centres.square().sum(-1).unsqueeze(-2)  # [task, 1, way]
        cross = query @ centres.transpose(-1, -2)  # [task, m, way]
        return (query_norm + centre_norm - 2 * cross).clamp_min(0)


def cosine_similarities(query: Query, centres: Centres) -> Logits:
    """Return the cosine between each query and each centre of its task, in [-1, 1]."""
    with full_precision(query.device):
        query, centres = normalize(at_least_float32(query), dim=-1), normalize(centres, dim=-1)
        return torch.matmul(query, centres.transpose(-1, -2))


def soft_prototype_probabilities(support: Support, query: Query) -> Logits:
    """Return each class's probability for each query, which depends on the other queries.

    Each query contributes to a prototype by its probability of being of the class. Kye et al.,
    "Meta-Learned Confidence for Few-shot Learning" (arXiv 2002.12017), equations 5 and 6, without
    learned parameters, as the released code of MetaDelta does (arXiv 2102.10744): unit-norm
    features, a softmax over negative squared distances to unit-norm prototypes, ten refinements.
    """
    with full_precision(query.device):
        support = normalize(at_least_float32(support), dim=-1)
        query = normalize(at_least_float32(query), dim=-1)
        total = support.sum(dim=2)  # [task, way, d]
        chances = _probabilities(query, total)
        for _ in range(ROUNDS):
            # The mean of support and weighted queries; its length does not matter.
            chances = _probabilities(query, total + chances @ query)
        return chances.mT


def log_densities(support: Support, query: Query, shrinkage: float) -> Logits:
    """Compute each query's log density under each class, up to a constant common to the classes.

    This is quadratic discriminant analysis (QDA): each class has a covariance of its own, the
    maximum-likelihood estimate shrunk towards the identity, (1 - shrinkage) * S + shrinkage * I, as
    scikit-learn's ``reg_param`` does: with fewer examples than features it has no inverse.

    Matrices are inverted in the space of a class's examples (Woodbury's identity): shot x shot
    instead of d x d.

    ``shrinkage`` is above 0 and at most 1; at 1 the nearest class mean is the likeliest class.
    """
    with full_precision(query.device):
        support, query = at_least_float32(support), at_least_float32(query)
        means = prototypes(support)
        spread = support - means[:, :, None]  # [task, way, shot, d]
        ratio = (1 - shrinkage) / (shrinkage * support.shape[2])
        gram = torch.eye(support.shape[2], dtype=support.dtype, device=support.device)
        gram = gram + ratio * spread @ spread.transpose(-1, -2)  # [task, way, shot, shot]
        factor, _ = torch.linalg.cholesky_ex(gram)
        along = spread @ query[:, None].transpose(-1, -2) - spread @ means[..., None]
        inner = torch.linalg.solve_triangular(factor, along, upper=False)
        explained = ratio * inner.square().sum(dim=2).transpose(-1, -2)  # [task, m, way]
        distances = (squared_distances(query, means) - explained) / shrinkage
        volume = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(dim=-1)  # [task, way]
        return -(distances + volume[:, None]) / 2


def _probabilities(query: Tensor, towards: Tensor) -> Float[Tensor, "task way m"]:
    # Without the query's squared length, which is common to all its distances. Classes come before
    # queries because softmax along a few neighbours in memory is slow.
    centres = normalize(towards, dim=-1)
    distances = centres.square().sum(dim=-1, keepdim=True) - 2 * centres @ query.mT
    return (-distances).softmax(dim=1)
