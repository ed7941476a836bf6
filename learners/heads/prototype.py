"""Class prototypes and the distances to them.

Prototypical Networks (arXiv 1703.05175), equations 1 and 2.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.shapes import Logits, Query, Support

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
