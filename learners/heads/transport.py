"""Optimal transport with an entropic penalty, for a batch of tasks at once.

Cuturi, "Sinkhorn Distances: Lightspeed Computation of Optimal Transport" (arXiv 1306.0895), as used
by Hu, Gripon, Pateux, "Leveraging the Feature Distribution in Transfer-based Few-Shot Learning"
(arXiv 2006.03806), algorithm 1.

The plan is unique, and there are two methods. Sinkhorn's rule scales rows and columns in turn, and
needs thousands of turns where the costs clearly prefer other amounts than the given ones. With few
columns (the classes of a task) Newton's method on the columns' potentials needs about ten steps
once it is close. Each step here takes the better of the two.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from fsl_sweep.learners.heads.solution import Solution, iterated

MOST_STEPS = 200
_LENGTHS = (1.0, 0.1)


@torch.no_grad()
def transport(
    cost: Float[Tensor, "B m n"],
    rows: Float[Tensor, "B m"],
    columns: Float[Tensor, "B n"],
    lam: float,
    start: Float[Tensor, "B n"] | None = None,
) -> tuple[Solution, Float[Tensor, "B n"]]:
    """Find the plan P that minimises <P, cost> - H(P) / lam under the given marginals.

    Args:
        cost: M, of any sign, float32 or float64.
        rows: sums of P's rows, above 0. They are met exactly.
        columns: sums of P's columns, above 0; their total is that of the rows.
        lam: lambda, above 0: the larger, the closer to the plan of least cost.
        start: initial potentials; finite.

    Returns:
        Plans, not differentiable; ``residual`` is the largest error of a column's sum over
        the largest column, at most eps^(2/3) where ``SOLVED``. And the columns' potentials, a good
        start for a similar problem.
    """
    # A problem has few columns. Softmax along them is an order of magnitude faster if the rows are
    # contiguous in memory.
    problem = _Problem(lam * cost.mT.contiguous(), rows[:, None], columns)
    potentials = torch.zeros_like(columns) if start is None else start
    tolerance = torch.finfo(cost.dtype).eps ** (2 / 3)
    plan = problem.plan(potentials)
    residual = problem.residual(plan)
    steps = 0
    while steps < MOST_STEPS and (residual > tolerance).any():  # a NaN is not above
        steps += 1
        going = residual > tolerance
        moved = _best_move(problem, potentials, plan, going)
        # Tasks that are done do not change with the others.
        potentials = torch.where(going[:, None], moved, potentials)
        plan = problem.plan(potentials)
        residual = problem.residual(plan)
    finite = (0 * problem.cost).sum(dim=(1, 2)) == 0  # else NaN; five times as fast as `isfinite`
    solution = iterated(plan, residual, tolerance, finite, steps)
    return replace(solution, value=solution.value.mT), potentials


@dataclass(frozen=True)
class _Problem:
    """Costs, transposed, and marginals of a batch of problems; plans are transposed as well."""

    cost: Float[Tensor, "B n m"]  # times lambda
    rows: Float[Tensor, "B 1 m"]
    columns: Float[Tensor, "B n"]

    def plan(self, potentials: Tensor) -> Float[Tensor, "B n m"]:
        """Return the plan of these potentials, which has the rows' sums."""
        return self.rows * (potentials[..., None] - self.cost).softmax(dim=1)

    def objective(self, potentials: Tensor) -> Float[Tensor, " B"]:
        """Return the convex function that the right potentials minimise."""
        amounts = self.rows[:, 0] * (potentials[..., None] - self.cost).logsumexp(dim=1)
        return amounts.sum(dim=-1) - (self.columns * potentials).sum(dim=-1)

    def residual(self, plan: Tensor) -> Float[Tensor, " B"]:
        """Return the largest error of a column's sum over the largest column."""
        return (plan.sum(dim=2) - self.columns).abs().amax(dim=1) / self.columns.amax(dim=1)

    def newton_step(self, plan: Tensor) -> Float[Tensor, "B n"]:
        """Return the Hessian's inverse times what the columns lack, damped while they lack much."""
        sums = plan.sum(dim=2)
        missing = self.columns - sums
        hessian = torch.diag_embed(sums) - plan @ (plan / self.rows).mT
        size = hessian.diagonal(dim1=-2, dim2=-1).amax(dim=-1)
        damping = 1e-3 * missing.abs().amax(dim=-1) + torch.finfo(plan.dtype).eps * size
        # Potentials matter up to a constant: along it the Hessian is 0, and the step is made 0.
        hessian = hessian + size[:, None, None] / plan.shape[1]
        hessian.diagonal(dim1=-2, dim2=-1).add_(damping[:, None])
        step, _ = torch.linalg.solve_ex(hessian, missing[..., None])
        return step[..., 0]


def _best_move(
    problem: _Problem, potentials: Tensor, plan: Tensor, going: Tensor
) -> Float[Tensor, "B n"]:
    """Return potentials after a step, of those problems that are ``going``."""
    newton = potentials + problem.newton_step(plan)
    # Close to the solution the objective is flat to rounding; the columns' errors are not.
    close = problem.residual(problem.plan(newton)) < problem.residual(plan) / 4
    best = newton
    if not (close | ~going).all():
        best = torch.where(close[:, None], newton, _least(problem, potentials, plan, newton))
    return best - best.mean(dim=-1, keepdim=True)  # a constant changes nothing


def _least(
    problem: _Problem, potentials: Tensor, plan: Tensor, newton: Tensor
) -> Float[Tensor, "B n"]:
    """Take Sinkhorn's step or a part of Newton's, whichever has the least objective."""
    tiny = torch.finfo(plan.dtype).tiny
    best = potentials + (problem.columns.log() - plan.sum(dim=2).clamp_min(tiny).log())
    least = problem.objective(best)
    for length in _LENGTHS:
        tried = potentials + length * (newton - potentials)
        objective = problem.objective(tried)
        better = objective < least
        best = torch.where(better[:, None], tried, best)
        least = torch.where(better, objective, least)
    return best
