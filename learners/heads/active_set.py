"""An exact solver of the dual of the multi-class SVM, by exchanging active constraints.

If the set of active bounds is known, the optimality conditions are linear; a solution that violates
some of them shows which bounds to release and which to hold. To exchange all of these at once is
the primal-dual active set method (Hintermueller, Ito, Kunisch, "The Primal-Dual Active Set Strategy
as a Semismooth Newton Method"). From a good guess it ends after a few steps with the exact
solution; from a bad one it may cycle.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class Problem(NamedTuple):
    """Minimise 1/2 tr(A'HA) - tr(Y'A) subject to A <= U and A 1 = 0, for each task of a batch."""

    hessian: Float[Tensor, "B m m"]
    targets: Float[Tensor, "B m n"]
    bound: Float[Tensor, "B m n"]


def optimality(
    problem: Problem, value: Float[Tensor, "B m n"]
) -> tuple[Float[Tensor, " B"], Float[Tensor, "B m n"], Float[Tensor, "B 1 1"]]:
    """Return how far A is from optimal, the slope Y - HA, and the size of its cancelling terms.

    The multiplier of row i's sum is nu_i = min_j (Y - HA)_ij, which leaves mu = Y - HA - nu >= 0
    for the bounds. The residual is the largest of |sum_j A_ij| / C (feasibility) and
    |min((U - A)_ij / C, mu_ij / size)| (bounds and complementarity), zero exactly at the solution.
    C is the largest bound; size is max(1, max |H| |A|).
    """
    hessian, targets, bound = problem
    slope = targets - hessian @ value
    size = (hessian.abs() @ value.abs()).amax((-2, -1), keepdim=True).clamp_min(1)
    limit = bound.amax((-2, -1), keepdim=True)
    multiplier = (slope - slope.amin(-1, keepdim=True)) / size
    gap = torch.minimum((bound - value) / limit, multiplier).abs_().amax((-2, -1))
    sums = (value.sum(-1) / limit.squeeze(-1)).abs_().amax(-1)
    return torch.maximum(gap, sums), slope, size


@dataclass(frozen=True)
class Face:
    """The optimality conditions on a set of free entries, factorised: factor once, solve many.

    For each class its free rows are gathered, so that the n systems of a task are as small as
    possible; they are padded to a common size r.

    Attributes:
        rows: the free rows of each class, then rows that are not.
        inverse: of the Hessian on those rows, zero in the padding.
        factor: Cholesky factor of the sum of these inverses, the Schur complement of the row sums.
    """

    rows: Int[Tensor, "B n r"]
    inverse: Float[Tensor, "B n r r"]
    factor: Float[Tensor, "B m m"]

    @classmethod
    def of(
        cls,
        hessian: Float[Tensor, "B m m"],
        free: Bool[Tensor, "B m n"],
        added: Float[Tensor, "B m n"] | None = None,
    ) -> "Face":
        """Factorise the Hessian, with ``added`` on each class's diagonal; NaN if not definite."""
        by_class = free.transpose(-1, -2)
        counts = by_class.sum(-1, keepdim=True)
        r = int(counts.max())
        rows = by_class.byte().argsort(dim=-1, descending=True, stable=True)[..., :r]
        valid = torch.arange(r, device=rows.device) < counts  # [B, n, r]
        pairs = valid[..., :, None] & valid[..., None, :]
        flat = (rows[..., :, None] * free.shape[1] + rows[..., None, :]).flatten(2)
        blocks = _expand(hessian.flatten(1), free.shape[-1]).gather(-1, flat)
        blocks = blocks.view(pairs.shape).mul_(pairs)
        blocks.diagonal(dim1=-2, dim2=-1).add_(~valid)
        if added is not None:
            blocks.diagonal(dim1=-2, dim2=-1).add_(added.transpose(-1, -2).gather(-1, rows))
        inverse = inverse_of(blocks).mul_(pairs)
        schur = torch.zeros_like(hessian).flatten(1)
        # Class by class: scatter_add_ over all would sum in no fixed order on a GPU.
        for where, part in zip(flat.unbind(1), inverse.flatten(2).unbind(1), strict=True):
            schur.scatter_(-1, where, schur.gather(-1, where) + part)
        schur = schur.view_as(hessian)
        return cls(rows, inverse, torch.linalg.cholesky_ex(schur).L)

    def solve(
        self, right: Float[Tensor, "B m n"], sums: Float[Tensor, "B m"]
    ) -> tuple[Float[Tensor, "B m n"], Float[Tensor, "B m"]]:
        """Find X, zero off the face, and nu: (H X)_ij + nu_i = right_ij on it, and X 1 = -sums."""
        by_class = right.transpose(-1, -2)
        gathered = by_class.gather(-1, self.rows)
        plain = self._apply(gathered, by_class).sum(1)
        nu = torch.cholesky_solve((plain + sums).unsqueeze(-1), self.factor).squeeze(-1)
        gathered = gathered - _expand(nu, right.shape[-1]).gather(-1, self.rows)
        return self._apply(gathered, by_class).transpose(-1, -2), nu

    def _apply(self, gathered: Tensor, like: Tensor) -> Float[Tensor, "B n m"]:
        product = (self.inverse @ gathered.unsqueeze(-1)).squeeze(-1)
        return torch.zeros_like(like).scatter_(-1, self.rows, product)


class Outcome(NamedTuple):
    """Where the exchanges ended: which tasks are unsolved, and the face of the free entries."""

    value: Float[Tensor, "B m n"]
    unsolved: Bool[Tensor, " B"]
    free: Bool[Tensor, "B m n"]
    face: Face
    steps: int


def solve_exactly(
    problem: Problem, free: Bool[Tensor, "B m n"], tolerance: float, limit: int
) -> Outcome:
    """Exchange active constraints, from a guess, until all residuals are within ``tolerance``.

    ``free`` needs an entry in every row; the exchanges keep that, because a row that sums to zero
    cannot have all its entries at or above bounds that sum to C > 0.
    """
    hessian, targets, bound = problem
    limits = tolerance * bound.amax((-2, -1), keepdim=True)
    face = Face.of(hessian, free)
    value, step = torch.zeros_like(targets), 0
    while True:
        step += 1
        start = torch.where(free, value, bound)
        change, nu = face.solve(targets - hessian @ start, start.sum(-1))
        value = start + change
        residual, slope, size = optimality(problem, value)
        unsolved = ~(residual <= tolerance)
        if step == limit or not unsolved.any():
            break
        pulled = slope - nu.unsqueeze(-1) < -tolerance * size
        violated = torch.where(free, value - bound > limits, pulled)
        flips = violated & unsolved[:, None, None]
        if flips.any():  # else the same face again, which refines the solution
            free = free ^ flips
            face = Face.of(hessian, free)
    return Outcome(value, unsolved, free, face, step)


def _expand(values: Tensor, classes: int) -> Tensor:
    """Expand ``[B, k]`` to ``[B, classes, k]`` without a copy."""
    return values.unsqueeze(1).expand(-1, classes, -1)


def inverse_of(matrices: Float[Tensor, "*batch m m"]) -> Float[Tensor, "*batch m m"]:
    """Invert positive definite matrices; NaN for one that is not, as far as rounding lets."""
    factor, info = torch.linalg.cholesky_ex(matrices)
    # The inversion raises at a zero on the diagonal, which a failed factorisation may leave.
    factor.diagonal(dim1=-2, dim2=-1).masked_fill_((info != 0).unsqueeze(-1), torch.nan)
    return torch.cholesky_inverse(factor)
