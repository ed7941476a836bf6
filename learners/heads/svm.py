"""Multi-class support vector machines, for a batch of tasks at once.

MetaOptNet (arXiv 1904.03758), section 3.2: the dual of Crammer and Singer, "On the Algorithmic
Implementation of Multiclass Kernel-based Vector Machines" (JMLR 2, 2001), with the identity added
to the kernel as in the released code. All classes share the Hessian K + I, so a task needs systems
in its m support examples only, never in the m n variables: a few steps of ADMM guess which bounds
are active (`guesses`), and exchanging active constraints makes the solution exact (`active_set`).
If that cycles, an interior-point method guesses.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsl_sweep.learners.heads.active_set import Face, Outcome, Problem, optimality, solve_exactly
from fsl_sweep.learners.heads.guesses import guess_free, guess_free_surely
from fsl_sweep.learners.heads.precision import full_precision
from fsl_sweep.learners.heads.ridge import labelled_examples
from fsl_sweep.learners.heads.solution import LinearFit, Solution, Status, check_shapes, statuses
from fsl_sweep.learners.shapes import Support

# The residual that ``SOLVED`` promises. The solver always continues to ``_TARGET``, in float64.
_TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
_TARGET = 1e-10
_MAX_STEPS = 15
# Entries of the n systems of all tasks that are held at once: bounds a tensor at 128 MB.
_NUMBERS_AT_ONCE = 2**24


def fit(support: Support, C: float) -> LinearFit:
    """Fit W = S' A to support features S of each task, where A solves the dual of kernel S S'.

    Raises:
        ValueError: as `check_support`, or C is not positive.
    """
    with full_precision(support.device):
        examples, targets = labelled_examples(support)
        transposed = examples.mT
        solution = solve_dual(examples @ transposed, targets, C)
        return LinearFit(transposed @ solution.value, solution)


def solve_dual(
    kernel: Float[Tensor, "B m m"], targets: Float[Tensor, "B m n"], C: float
) -> Solution:
    """Minimise 1/2 tr(A'(K + I)A) - tr(Y'A) subject to A <= C Y and A 1 = 0, for each problem.

    Computes in float64 and answers in the kernel's type, whose precision is then fully used; at
    these sizes that costs little.

    Args:
        kernel: K, positive semi-definite, float32 or float64; only its symmetric part counts. The
            identity is added here.
        targets: Y, the class of each example as a one-hot row; every class has an example.
        C: upper bound of an example's weight, more than 0.

    Returns:
        The solution A. Its ``residual`` is the largest of |sum_j A_ij| / C and
        |min((C Y - A)_ij / C, mu_ij / s)|, where mu = G - min_j G_ij with G = Y - (K + I)A are the
        multipliers of the bounds and s = max(1, max |K + I| |A|) is the size of the terms of G. It
        is zero only at the optimum. ``SOLVED`` promises 1e-5 in float32 and 1e-9 in float64. The
        gradient, with respect to the kernel, differentiates the optimality conditions with the
        active bounds held; where a bound is about to become active it is one of the one-sided
        gradients. It cannot be differentiated again.

    Raises:
        ValueError: the shapes do not fit each other, there are fewer than two classes, the targets
            are not one-hot, a class has no example, or C is not a positive number.
    """
    _check(kernel, targets, C)
    tasks_at_once = max(1, _NUMBERS_AT_ONCE // (targets.shape[2] * kernel[0].numel()))
    parts = [
        _DualSolve.apply(*part, C)
        for part in zip(kernel.split(tasks_at_once), targets.split(tasks_at_once), strict=True)
    ]
    value, status, residual = (torch.cat(part) for part in list(zip(*parts, strict=True))[:3])
    return Solution(value, status, max(part[3] for part in parts), residual)


class _DualSolve(torch.autograd.Function):
    """The solution of the dual; its gradient needs one more solve on the same face."""

    @staticmethod
    def forward(
        ctx: Any, kernel: Tensor, targets: Tensor, C: float
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        hessian, finite, definite = _hessian(kernel)
        labels = targets.double()
        problem = Problem(hessian, labels, C * labels)
        outcome = _solve(problem)
        value = outcome.value.to(kernel.dtype)
        residual = optimality(problem, value.double())[0].to(kernel.dtype)
        solved = residual <= _TOLERANCE[residual.dtype]  # a NaN is not below
        status = statuses(solved, finite, definite)
        value = value.masked_fill((status != Status.SOLVED)[:, None, None], torch.nan)
        residual = residual.masked_fill(~definite, torch.nan)
        face = outcome.face
        ctx.save_for_backward(value, face.rows, face.inverse, face.factor)
        ctx.mark_non_differentiable(status, residual)
        return value, status, residual, outcome.steps

    # The decorator hides the parameters' names from the type checker.
    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: Tensor, *_: Any
    ) -> tuple[Tensor, None, None]:
        value, *face = ctx.saved_tensors
        nothing = torch.zeros(value.shape[:2], dtype=torch.float64, device=value.device)
        adjoint = Face(*face).solve(gradient.double(), nothing)[0]
        product = adjoint @ value.double().transpose(-1, -2)
        product = -(product + product.transpose(-1, -2)) / 2
        return product.to(value.dtype), None, None


def _solve(problem: Problem) -> Outcome:
    """Solve from the cheap guess, and tasks that it does not solve from the reliable one."""
    # The larger the problem, the more an exchange costs compared with a step of guessing.
    guess = guess_free(problem, steps=20 + problem.hessian.shape[-1] // 5)
    outcome = solve_exactly(problem, guess, _TARGET, _MAX_STEPS)
    if not outcome.unsolved.any():
        return outcome
    stuck, guess = outcome.unsolved, outcome.free.clone()
    guess[stuck] = guess_free_surely(Problem(*(part[stuck] for part in problem)))
    final = solve_exactly(problem, guess, _TARGET, _MAX_STEPS)
    return final._replace(steps=outcome.steps + final.steps)


def _hessian(kernel: Tensor) -> tuple[Tensor, Bool[Tensor, " B"], Bool[Tensor, " B"]]:
    """Return K + I in float64, and which are finite and positive definite; others become I."""
    finite = kernel.isfinite().flatten(1).all(1)
    kernel = torch.where(finite[:, None, None], kernel, 0).double()
    hessian = (kernel + kernel.transpose(-1, -2)) / 2
    hessian.diagonal(dim1=-2, dim2=-1).add_(1)
    definite = finite & (torch.linalg.cholesky_ex(hessian).info == 0)
    identity = torch.eye(kernel.shape[-1], dtype=kernel.dtype, device=kernel.device)
    return torch.where(definite[:, None, None], hessian, identity), finite, definite


def _check(kernel: Tensor, targets: Tensor, C: float) -> None:
    check_shapes(kernel, targets)
    if targets.shape[2] < 2:
        raise ValueError(f"An SVM needs at least 2 classes; the targets have {targets.shape[2]}.")
    if not 0 < C < float("inf"):
        raise ValueError(f"C, the bound of an example's weight, must be more than 0; it is {C}.")
    ones, zeros = targets == 1, targets == 0
    if not ((ones | zeros).all() and (ones.sum(-1) == 1).all()):
        raise ValueError("The targets must be one-hot: each row one 1, and 0 elsewhere.")
    if not ones.any(1).all():
        raise ValueError("Every class needs at least one support example; some class has none.")
