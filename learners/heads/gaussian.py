"""Quadratic discriminant analysis (QDA): a Gaussian with a covariance of its own for each class.

The covariance is the maximum-likelihood estimate shrunk towards the identity,
(1 - shrinkage) * S + shrinkage * I, as scikit-learn's ``reg_param`` does: with fewer examples than
features the estimate has no inverse.
"""

import torch

from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.heads.prototype import prototypes, squared_distances
from fsl_sweep.learners.shapes import Logits, Query, Support


def log_densities(support: Support, query: Query, shrinkage: float) -> Logits:
    """Compute each query's log density under each class, up to a constant common to the classes.

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
