"""What a solver of heads returns: an answer for each task, and whether to trust it."""

from dataclasses import dataclass
from enum import IntEnum

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.shapes import Logits, Query


class Status(IntEnum):
    """How the solution of one task came out. Anything but ``SOLVED`` has NaN as its value."""

    SOLVED = 0
    NOT_POSITIVE_DEFINITE = 1  # the regularised kernel has no Cholesky factor
    NOT_FINITE = 2  # NaN or infinity in the kernel or the targets
    INEXACT = 3  # the residual is too large: ill-conditioned, or out of steps


@dataclass(frozen=True)
class Solution:
    """Solutions of a batch of independent problems; a failure is a value, not an exception.

    Attributes:
        value: differentiable; NaN where the status is not ``SOLVED``.
        status: int64, of `Status`.
        steps: iterations taken by the whole batch; 1 for a direct solver.
        residual: how far the optimality conditions are from holding, relative to the
            right-hand side; NaN where there is no solution to check.
    """

    value: Float[Tensor, "B m n"]
    status: Int[Tensor, " B"]
    steps: int
    residual: Float[Tensor, " B"]


def statuses(solved: Tensor, finite: Tensor, definite: Tensor | None = None) -> Int[Tensor, " B"]:
    """Say of each problem how it came out, by masks ``[B]``."""
    status = torch.where(solved, Status.SOLVED, Status.INEXACT)
    if definite is not None:
        status = torch.where(definite, status, Status.NOT_POSITIVE_DEFINITE)
    return torch.where(finite, status, Status.NOT_FINITE)


def iterated(
    value: Tensor, residual: Tensor, tolerance: float, finite: Tensor, steps: int
) -> Solution:
    """Make the solution of an iterative solver from its last iterate and the finite problems."""
    status = statuses(residual <= tolerance, finite)
    value = value.masked_fill((status != Status.SOLVED)[:, None, None], torch.nan)
    return Solution(value, status, steps, residual.masked_fill(~finite, torch.nan))


def check_shapes(kernel: Tensor, targets: Tensor) -> None:
    """Raise ValueError unless a solver's arguments are ``[B, m, m]`` and ``[B, m, n]``."""
    if kernel.shape != (*targets.shape[:2], targets.shape[1]):
        raise ValueError(
            "The kernel must be [B, m, m] and the targets [B, m, n]; "
            f"their shapes are {list(kernel.shape)} and {list(targets.shape)}."
        )


@dataclass(frozen=True)
class LinearFit:
    """Linear classifiers fitted to the support of each task.

    Attributes:
        weights: NaN for a task whose status is not ``SOLVED``.
        solution: of the problem whose solution gives the weights.
        intercept: sums to 0 over the classes.
    """

    weights: Float[Tensor, "task d way"]
    solution: Solution
    intercept: Float[Tensor, "task way"] | None = None

    def predict(self, query: Query) -> Logits:
        """Compute logits of each query for each class."""
        with full_precision(query.device):
            scores = at_least_float32(query) @ self.weights
            return scores if self.intercept is None else scores + self.intercept[:, None]
