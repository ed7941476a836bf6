"""Guesses at which constraints of the dual of the multi-class SVM are active.

A cheap one by over-relaxed ADMM (Boyd et al., "Distributed Optimization and Statistical Learning
via the Alternating Direction Method of Multipliers", sections 3.4.3 and 5.2). The quadratic and the
row sums form one side of the splitting, the bounds the other. The Hessian is the same for every
class, so one inverse of an m x m matrix serves all classes and steps of a task, and subtracting the
mean over the classes keeps the row sums: a step is one matrix product and a clamp.

A slow but reliable one by Mehrotra's predictor-corrector method ("On the Implementation of a
Primal-Dual Interior Point Method"; Nocedal and Wright, "Numerical Optimization", section 16.6),
started at a point that is feasible in primal and dual; all iterates stay feasible. It is for the
tasks on which exchanging active constraints from the cheap guess cycles: features of few dimensions
and large norm.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fsl_sweep.learners.heads.active_set import Face, Problem, inverse_of

_RELAXATION = 1.6
_MAX_STEPS = 40
_GAP = 1e-17  # relative to the first
_TO_THE_BOUNDARY = 0.99


def guess_free(problem: Problem, steps: int) -> Bool[Tensor, "B m n"]:
    """Guess where the solution of ``problem`` is below its bound, by ``steps`` of ADMM.

    In float32, because only the pattern is used. Every row of the answer has a free entry; a task
    that overflows float32 is free everywhere.
    """
    hessian, targets, bound = (part.float() for part in problem)
    # The penalty balances the two sides: about the middle of the spectrum, the mean of the diagonal
    # of the centred kernel. Features with a large common mean add one huge eigenvalue.
    diagonal = hessian.diagonal(dim1=-2, dim2=-1).mean(-1)
    penalty = (diagonal - hessian.mean((-2, -1))).clamp_min(1)[:, None, None]
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


def guess_free_surely(problem: Problem) -> Bool[Tensor, "B m n"]:
    """Find where the solution of ``problem`` is below its bound; every row has such an entry."""
    hessian, targets, bound = problem
    limit = bound.amax((-2, -1), keepdim=True)
    everywhere = torch.ones_like(targets, dtype=torch.bool)
    slack = (limit / targets.shape[-1]).expand_as(targets)  # row sums of bound - slack vanish
    slope = targets - hessian @ (bound - slack)
    spread = (slope.amax(-1, keepdim=True) - slope.amin(-1, keepdim=True)).clamp_min(1)
    multiplier = slope - slope.amin(-1, keepdim=True) + spread
    first = (slack * multiplier).mean((-2, -1), keepdim=True)
    for _ in range(_MAX_STEPS):
        products = slack * multiplier
        gap = products.mean((-2, -1), keepdim=True)
        if (gap <= _GAP * first).all():
            break
        face = Face.of(hessian, everywhere, multiplier / slack)
        d_slack, d_multiplier = _direction(face, slack, multiplier, products)
        length = _longest(slack, d_slack, multiplier, d_multiplier)
        ahead = (slack + length * d_slack) * (multiplier + length * d_multiplier)
        centring = (ahead.mean((-2, -1), keepdim=True) / gap) ** 3
        products = products + d_slack * d_multiplier - centring * gap
        d_slack, d_multiplier = _direction(face, slack, multiplier, products)
        length = _TO_THE_BOUNDARY * _longest(slack, d_slack, multiplier, d_multiplier)
        going = gap > _GAP * first  # below, rounding errors would dominate
        slack = torch.where(going, slack + length * d_slack, slack)
        multiplier = torch.where(going, multiplier + length * d_multiplier, multiplier)
    free = ~(slack / limit <= multiplier)  # multipliers count in units of the targets
    return free | ~free.any(-1, keepdim=True)


def _direction(
    face: Face, slack: Tensor, multiplier: Tensor, products: Tensor
) -> tuple[Float[Tensor, "B m n"], Float[Tensor, "B m n"]]:
    """Return changes of slack and multiplier that make their products smaller by ``products``."""
    change, _ = face.solve(products / slack, torch.zeros_like(slack[..., 0]))
    return -change, (multiplier * change - products) / slack


def _longest(
    slack: Tensor, d_slack: Tensor, multiplier: Tensor, d_multiplier: Tensor
) -> Float[Tensor, "B 1 1"]:
    """Return the longest common step, at most 1, that leaves both positive."""
    rate = torch.maximum(-d_slack / slack, -d_multiplier / multiplier)
    return 1 / rate.amax((-2, -1), keepdim=True).clamp_min(1)
