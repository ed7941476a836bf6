"""Ridge regression onto one-hot targets, for a batch of tasks at once.

MetaOptNet (arXiv 1904.03758), section 3.3 and its released ridge head: the dual problem with
regularisation lambda gives alpha = 2 (K + lambda I)^-1 Y. The factor 2 is the original's; under a
fixed scale of the logits it matters.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from fsl_sweep.learners.batches import check_support
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.heads.solution import LinearFit, Solution, check_shapes, statuses
from fsl_sweep.learners.shapes import Support


def fit(support: Support, lam: float) -> LinearFit:
    """Fit 2 S' (S S' + lam I)^-1 Y to support features S of each task.

    With fewer features than examples the equal primal form 2 (S'S + lam I)^-1 S'Y is solved,
    whose system is the smaller one.
    """
    with full_precision(support.device):
        examples, targets = labelled_examples(support)
        transposed = examples.mT
        if examples.shape[2] < examples.shape[1]:
            solution = solve(transposed @ examples, transposed @ targets[0], lam)
            return LinearFit(solution.value, solution)
        solution = solve(examples @ transposed, targets, lam)
        return LinearFit(transposed @ solution.value, solution)


def labelled_examples(
    support: Support,
) -> tuple[Float[Tensor, "task m d"], Float[Tensor, "task m way"]]:
    """Flatten a support into examples, float32 at least, with one-hot targets of their classes.

    Raises:
        ValueError: as `check_support`.
    """
    tasks, way, shot = support.shape[:3]
    examples = at_least_float32(support).flatten(1, 2)
    return examples, one_hot_targets(way, shot, like=examples).expand(tasks, -1, -1)


def one_hot_targets(way: int, shot: int, like: Tensor) -> Float[Tensor, "m way"]:
    """Return one-hot targets of support examples in class order; see `check_support`."""
    check_support(way, shot)
    return torch.eye(way, dtype=like.dtype, device=like.device).repeat_interleave(shot, dim=0)


def solve(kernel: Float[Tensor, "B m m"], targets: Float[Tensor, "B m n"], lam: float) -> Solution:
    """Solve 2 (K + lam I)^-1 Y for each problem of a batch, by one batched Cholesky.

    Args:
        kernel: K, symmetric positive semi-definite, float32 or float64.
        targets: Y.
        lam: lambda, added to the diagonal; zero is allowed where K is regular.

    Returns:
        The solution; ``residual`` is |(K + lam I) X - 2 Y| / |2 Y| in the Frobenius norm, and more
        than the cube root of the machine epsilon (0.005 in float32) counts as ``INEXACT``. The
        gradient reuses the factor; it cannot be differentiated again.

    Raises:
        ValueError: the shapes do not fit each other.
    """
    check_shapes(kernel, targets)
    if torch.is_grad_enabled() and (kernel.requires_grad or targets.requires_grad):
        value, status, residual = _CholeskySolve.apply(kernel, targets, lam)
    else:  # without autograd a small solve is a fifth faster
        value, status, residual, _ = _solve(kernel, targets, lam)
    return Solution(value, status, 1, residual)


class _CholeskySolve(torch.autograd.Function):
    """2 (K + lam I)^-1 Y whose gradient needs one more solve with the same factor."""

    @staticmethod
    def forward(
        ctx: Any, kernel: Tensor, targets: Tensor, lam: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        value, status, residual, factor = _solve(kernel, targets, lam)
        ctx.save_for_backward(factor, value)
        ctx.mark_non_differentiable(status, residual)
        return value, status, residual

    # The decorator hides the parameters' names from the type checker.
    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, gradient: Tensor, *_: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        factor, value = ctx.saved_tensors
        solved = torch.cholesky_solve(gradient, factor)
        return -solved @ value.transpose(-1, -2), 2 * solved, None


def _solve(kernel: Tensor, targets: Tensor, lam: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return value, status and residual of each problem, and the Cholesky factors."""
    system = kernel.clone()
    system.diagonal(dim1=-2, dim2=-1).add_(lam)
    factor, info = torch.linalg.cholesky_ex(system)
    right = 2 * targets
    value = torch.cholesky_solve(right, factor)
    error = torch.linalg.vector_norm(torch.baddbmm(right, system, value, beta=-1), dim=(-2, -1))
    size = torch.linalg.vector_norm(right, dim=(-2, -1))
    residual = error / size
    within = residual <= torch.finfo(system.dtype).eps ** (1 / 3)  # a NaN is not below
    # Usually all are solved. On a GPU this question would stall the step for longer than it saves.
    if system.device.type == "cpu" and within.all() and not info.any():
        return value, torch.zeros_like(info, dtype=torch.int64), residual, factor
    zero = (error == 0) & (size == 0)  # targets of zero have a solution of zero
    solved = (info == 0) & (within | zero)
    residual = residual.masked_fill(zero, 0).masked_fill(info != 0, torch.nan)
    finite = system.isfinite().flatten(1).all(1) & right.isfinite().flatten(1).all(1)
    status = statuses(solved, finite, info == 0)
    return value.masked_fill(~solved[:, None, None], torch.nan), status, residual, factor
