"""A cheap guess at which constraints of the dual of the multi-class SVM are active.

Over-relaxed ADMM (Boyd et al., "Distributed Optimization and Statistical Learning via the
Alternating Direction Method of Multipliers", sections 3.4.3 and 5.2). The quadratic and the row
sums form one side of the splitting, the bounds the other. The Hessian is the same for every class,
so one inverse of an m x m matrix serves all classes and steps of a task, and subtracting the mean
over the classes keeps the row sums: a step is one matrix product and a clamp.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_RELAXATION = 1.6


def guess_free(
    hessian: Float[Tensor, "B m m"],
    targets: Float[Tensor, "B m n"],
    bound: Float[Tensor, "B m n"],
    steps: int,
) -> Bool[Tensor, "B m n"]:
    """Guess where the solution of `solve_dual` is below its bound, by ``steps`` of ADMM.

    In float32, because only the pattern is used. Every row of the answer has a free entry; a task
    that overflows float32 is free everywhere.
    """
    hessian, targets, bound = hessian.float(), targets.float(), bound.float()
    penalty = _penalty(hessian)
    system = hessian.clone()
    system.diagonal(dim1=-2, dim2=-1).add_(penalty.squeeze(-1))
    inverse = inverse_of(system)
    constant = inverse @ (targets - targets.mean(-1, keepdim=True))
    inverse = penalty * inverse
    shadow = torch.zeros_like(targets)  # the clamped iterate plus the scaled multiplier
    for _ in range(steps):
        clamped = torch.minimum(shadow, bound)
        reflected = torch.lerp(shadow, clamped, 2)
        reflected -= reflected.mean(-1, keepdim=True)
        proposal = torch.baddbmm(constant, inverse, reflected)
        shadow.add_(proposal.sub_(clamped), alpha=_RELAXATION)
    free = ~(shadow >= bound)  # so that a NaN is free
    return free | ~free.any(-1, keepdim=True)


def _penalty(hessian: Float[Tensor, "B m m"]) -> Float[Tensor, "B 1 1"]:
    """Return the penalty that balances the two sides: about the middle of the spectrum.

    It is the mean of the diagonal of the centred kernel: features with a large common mean add one
    huge eigenvalue.
    """
    diagonal = hessian.diagonal(dim1=-2, dim2=-1).mean(-1)
    return (diagonal - hessian.mean((-2, -1))).clamp_min(1)[:, None, None]


def inverse_of(matrices: Float[Tensor, "*batch m m"]) -> Float[Tensor, "*batch m m"]:
    """Invert positive definite matrices; NaN for one that is not, as far as rounding lets."""
    factor, info = torch.linalg.cholesky_ex(matrices)
    # The inversion raises at a zero on the diagonal, which a failed factorisation may leave.
    factor.diagonal(dim1=-2, dim2=-1).masked_fill_((info != 0).unsqueeze(-1), torch.nan)
    return torch.cholesky_inverse(factor)
