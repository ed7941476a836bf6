"""Multinomial logistic regression for a batch of tasks at once.

Minimises C * sum of cross-entropies + 1/2 |W|^2 over weights W and an intercept that is not
penalised. This is scikit-learn's ``LogisticRegression``, except that with two classes scikit-learn
penalises only the difference of the two weights (its C is then twice this one).

The solver is Newton's method. Each step is found by conjugate gradients, preconditioned with
Boehning's bound of the Hessian ("Multinomial logistic regression algorithm", 1992), which is the
same for every class: one Cholesky factor a task serves all classes and all steps.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from fsl_sweep.learners.heads.precision import full_precision
from fsl_sweep.learners.heads.ridge import labelled_examples
from fsl_sweep.learners.heads.solution import LinearFit, Solution, iterated
from fsl_sweep.learners.shapes import Support

MOST_STEPS = 60
_MOST_CONJUGATE_STEPS = 60
_MOST_HALVINGS = 20


@torch.no_grad()
def fit(support: Support, C: float) -> LinearFit:
    """Fit a penalised multinomial logistic regression to each task.

    Args:
        support: features, finite; a task that has others gets status ``NOT_FINITE``.
        C: inverse strength of the penalty, above 0.
    """
    with full_precision(support.device):
        examples, targets = labelled_examples(support)
        basis = None
        if examples.shape[2] > examples.shape[1]:
            # The weights lie in the span of the examples. In a basis of it the norm is the same,
            # and the problem is as small as the support.
            basis, upper = torch.linalg.qr(examples.mT)
            examples = upper.mT
        solution = solve(examples, targets, C)
        weights, intercept = solution.value[:, :-1], solution.value[:, -1]
        return LinearFit(weights if basis is None else basis @ weights, solution, intercept)


@torch.no_grad()
def solve(examples: Float[Tensor, "B m r"], targets: Float[Tensor, "B m n"], C: float) -> Solution:
    """Find the weights, with the intercept as their last row, of each problem of a batch.

    Args:
        examples: features, float32 or float64.
        targets: one-hot classes.
        C: inverse strength of the penalty.

    Returns:
        The solution, ``value`` ``[B, r + 1, n]``; ``residual`` is the Frobenius norm of the
        gradient over that of C times examples' times targets, at most eps^(2/3) where ``SOLVED``.
    """
    problem = _Problem(examples, targets, C)
    value = torch.zeros_like(problem.goal)
    tolerance = torch.finfo(examples.dtype).eps ** (2 / 3)
    loss, probabilities = problem.loss(value)
    steps, residual = 0, torch.zeros(len(value), dtype=value.dtype, device=value.device)
    for steps in range(MOST_STEPS + 1):
        gradient = problem.gradient(value, probabilities)
        residual = _norm(gradient) / _norm(problem.goal)
        going = residual > tolerance  # a NaN is not above
        if steps == MOST_STEPS or not going.any():
            break
        # Tasks that are done do not change with the others.
        gradient = gradient * going[:, None, None]
        step = problem.newton_step(gradient, probabilities)
        value, loss, probabilities = problem.search(value, step, gradient, loss)
    finite = examples.isfinite().flatten(1).all(1) & residual.isfinite()
    return iterated(value, residual, tolerance, finite, steps)


class _Problem:
    """The objective of each task, its derivatives, and steps that decrease it."""

    def __init__(self, examples: Tensor, targets: Tensor, C: float) -> None:
        ones = torch.ones_like(examples[..., :1])
        self.C, self.targets = C, targets  # [B, m, n]
        self.examples = torch.cat([examples, ones], dim=-1)  # [B, m, r + 1]
        self.penalty = torch.ones_like(self.examples[0, 0, :, None])  # [r + 1, 1]
        self.penalty[-1] = 0  # of the intercept
        transposed = self.examples.transpose(-1, -2)
        self.goal = C * transposed @ targets  # [B, r + 1, n]
        # Sums over the classes stay 0, and there the bound is 1/2 times the Gram matrix.
        bound = torch.diag(self.penalty[:, 0]) + C / 2 * transposed @ self.examples
        self.factor, _ = torch.linalg.cholesky_ex(bound)  # [B, r + 1, r + 1]

    def loss(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objective ``[B]`` and class probabilities ``[B, m, n]``."""
        log_probabilities = (self.examples @ value).log_softmax(dim=-1)
        misfit = -(self.targets * log_probabilities).sum(dim=(1, 2))
        size = (self.penalty * value.square()).sum(dim=(1, 2))
        return self.C * misfit + size / 2, log_probabilities.exp()

    def gradient(self, value: Tensor, probabilities: Tensor) -> Tensor:
        error = probabilities - self.targets
        return self.penalty * value + self.C * self.examples.transpose(-1, -2) @ error

    def curvature(self, step: Tensor, probabilities: Tensor) -> Tensor:
        """Multiply the Hessian by a step."""
        change = probabilities * (self.examples @ step)
        change = change - probabilities * change.sum(dim=-1, keepdim=True)
        return self.penalty * step + self.C * self.examples.transpose(-1, -2) @ change

    def newton_step(self, gradient: Tensor, probabilities: Tensor) -> Tensor:
        """Find about -H^-1 g, by preconditioned conjugate gradients, for all tasks together."""
        step, rest = torch.zeros_like(gradient), -gradient
        near = torch.cholesky_solve(rest, self.factor)
        direction, size = near, _dot(rest, near)
        # The closer to the solution, the more exact the step: convergence is then superlinear.
        relative = _norm(gradient) / _norm(self.goal)
        enough = _norm(gradient) * torch.minimum(relative.sqrt(), torch.full_like(relative, 0.1))
        for _ in range(_MOST_CONJUGATE_STEPS):
            going = _norm(rest) > enough
            if not going.any():
                break
            curved = self.curvature(direction, probabilities)
            length = torch.where(going, size / _dot(direction, curved), 0)[:, None, None]
            step, rest = step + length * direction, rest - length * curved
            near = torch.cholesky_solve(rest, self.factor)
            before, size = size, _dot(rest, near)
            direction = near + torch.where(going, size / before, 0)[:, None, None] * direction
        return step

    def search(
        self, value: Tensor, step: Tensor, gradient: Tensor, loss: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Halve the step until the objective decreases enough; also return loss, probabilities."""
        slope = _dot(gradient, step)
        slack = 10 * torch.finfo(loss.dtype).eps * loss.abs()  # rounding, close to the solution
        length = torch.ones_like(loss)
        after, probabilities = self.loss(value + step)
        for _ in range(_MOST_HALVINGS):
            worse = after > loss + 1e-4 * length * slope + slack
            if not worse.any():
                break
            length = torch.where(worse, length / 2, length)
            after, probabilities = self.loss(value + length[:, None, None] * step)
        return value + length[:, None, None] * step, after, probabilities


def _dot(a: Tensor, b: Tensor) -> Float[Tensor, " B"]:
    return (a * b).sum(dim=(1, 2))


def _norm(a: Tensor) -> Float[Tensor, " B"]:
    return torch.linalg.vector_norm(a, dim=(1, 2))
