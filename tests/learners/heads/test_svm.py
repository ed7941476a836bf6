import itertools

import cvxpy
import numpy as np
import pytest
import torch

from fsl_sweep.learners.heads import admm, svm
from fsl_sweep.learners.heads.active_set import Problem, optimality, solve_exactly
from fsl_sweep.learners.heads.interior_point import guess_free_surely
from fsl_sweep.learners.heads.solution import Status


def features(batch, way, shot, d, seed=0, *, scale=1.0, mean=0.0, spread=1.0, queries=0):
    """Features of examples around class means, and of queries: float64 arrays."""
    draws = torch.Generator().manual_seed(seed)
    centres = torch.randn(batch, way, 1, d, generator=draws, dtype=torch.float64)
    noise = torch.randn(batch, way, shot + queries, d, generator=draws, dtype=torch.float64)
    drawn = scale * (mean + centres + spread * noise) / d**0.5
    return drawn[:, :, :shot], drawn[:, :, shot:].flatten(1, 2)


def problem(batch=3, way=4, shot=3, d=8, seed=0, **options):
    support = features(batch, way, shot, d, seed, **options)[0].flatten(1, 2)
    targets = torch.eye(way, dtype=torch.float64).repeat_interleave(shot, 0)
    return support @ support.mT, targets.repeat(batch, 1, 1)


def objective(kernel, targets, value):
    hessian = kernel + np.eye(len(kernel))
    return 0.5 * np.sum(value * (hessian @ value)) - np.sum(targets * value)


def by_clarabel(kernel, targets, C):
    """The dual by a general interior-point solver, and its objective."""
    values, vectors = np.linalg.eigh(kernel + np.eye(len(kernel)))
    root = (vectors * np.sqrt(values)).T
    A = cvxpy.Variable(targets.shape)
    loss = 0.5 * cvxpy.sum_squares(root @ A) - cvxpy.sum(cvxpy.multiply(targets, A))
    limits = [C * targets - A >= 0, cvxpy.sum(A, axis=1) == 0]
    task = cvxpy.Problem(cvxpy.Minimize(loss), limits)
    task.solve(cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return A.value, objective(kernel, targets, A.value)


# way, shot, d, options of the features: 2 problems of each, 50 in all.
SHAPES = [
    (way, shot, d, {"scale": scale, "mean": mean})
    for (way, shot, d), (scale, mean) in itertools.product(
        [(2, 1, 16), (5, 1, 64), (5, 5, 64), (3, 10, 16), (20, 1, 64)],
        [(1.0, 0.0), (3.0, 0.0), (10.0, 0.0), (10.0, 1.0), (30.0, 0.0)],
    )
]


@pytest.mark.slow
def test_objective_and_predictions_equal_those_of_clarabel():
    agreeing, seen = np.zeros(2, int), 0
    for i, (way, shot, d, options) in enumerate(SHAPES):
        support, query = features(2, way, shot, d, seed=i, queries=10, **options)
        fits = [svm.fit(support.to(dtype), 0.1) for dtype in (torch.float32, torch.float64)]
        examples, targets = support.flatten(1, 2).numpy(), np.eye(way).repeat(shot, axis=0)
        for task in range(2):
            kernel = examples[task] @ examples[task].T
            oracle, best = by_clarabel(kernel, targets, 0.1)
            expected = (query[task].numpy() @ (examples[task].T @ oracle)).argmax(-1)
            seen += len(expected)
            for which, fitted in enumerate(fits):
                value = fitted.solution.value[task].double().numpy()
                assert objective(kernel, targets, value) == pytest.approx(best, rel=1e-5)
                logits = fitted.predict(query.to(fitted.weights.dtype))[task].numpy()
                agreeing[which] += (logits.argmax(-1) == expected).sum()
    assert (agreeing >= 0.999 * seen).all()


def kkt_violation(kernel, targets, C, value):
    """Largest violation of the optimality conditions, multipliers found by linear programming.

    A row's sum has a free multiplier, its bounds have multipliers of at least 0 that vanish off
    the bounds: the slope Y - (K + I)A must be constant on the entries below their bound and at
    least that on the others.
    """
    slope = targets - (kernel + np.eye(len(kernel))) @ value
    worst = max(np.abs(value.sum(1)).max(), (value - C * targets).max()) / C
    for row, a, bound in zip(slope, value, C * targets, strict=True):
        free = a < bound - 1e-7 * C
        worst = max(worst, np.ptp(row[free]), (row[free].max() - row).max())
    return worst


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 40.0])
@pytest.mark.parametrize(("way", "shot", "d"), [(5, 1, 16), (5, 5, 16), (5, 5, 3), (20, 2, 32)])
def test_the_optimality_conditions_hold(way, shot, d, scale, C):
    kernel, targets = problem(4, way, shot, d, scale=scale)
    solution = svm.solve_dual(kernel, targets, C)
    assert (solution.status == Status.SOLVED).all()
    assert solution.residual.max() <= 1e-9
    size = max(1, kernel.max().item())
    for i in range(4):
        value = solution.value[i].numpy()
        assert kkt_violation(kernel[i].numpy(), targets[i].numpy(), C, value) < 1e-8 * size


def test_float32_is_the_float64_solution_rounded():
    kernel, targets = problem(8, 5, 5, 32, scale=10.0)
    single = kernel.float()
    exact = svm.solve_dual(single.double(), targets, 0.1).value
    solution = svm.solve_dual(single, targets.float(), 0.1)
    assert solution.value.dtype == solution.residual.dtype == torch.float32
    assert solution.residual.max() < 1e-6
    torch.testing.assert_close(solution.value, exact.float(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("way", "shot"), [(5, 15), (20, 5)])
def test_large_tasks_are_solved(way, shot):
    kernel, targets = problem(8 if way == 5 else 2, way, shot, 64, scale=5.0)
    solution = svm.solve_dual(kernel.float(), targets.float(), 0.1)
    assert (solution.status == Status.SOLVED).all()
    assert solution.residual.max() < 1e-6


def test_a_batch_that_is_cut_to_bound_memory_gives_the_same(monkeypatch):
    kernel, targets = problem(5)
    whole = svm.solve_dual(kernel, targets, 0.1)
    monkeypatch.setattr(svm, "_NUMBERS_AT_ONCE", 2 * 4 * 12 * 12)
    parts = svm.solve_dual(kernel, targets, 0.1)
    torch.testing.assert_close(parts.value, whole.value)
    assert parts.status.tolist() == whole.status.tolist()


@pytest.mark.parametrize("guess", ["nothing", "everything", "wrong"])
def test_exchanges_end_at_the_solution_from_any_guess(guess):
    kernel, targets = problem(4, 5, 4, 32, scale=3.0)
    expected = svm.solve_dual(kernel, targets, 0.1).value
    free = {
        "nothing": targets == 1,
        "everything": torch.ones_like(targets, dtype=torch.bool),
        "wrong": (expected >= 0.1 * targets) | (targets == 1),
    }[guess]
    task = Problem(kernel + torch.eye(20), targets, 0.1 * targets)
    outcome = solve_exactly(task, free, 1e-10, 30)
    assert outcome.steps > 1
    torch.testing.assert_close(outcome.value, expected, rtol=1e-9, atol=1e-11)


def test_both_guesses_find_the_active_bounds():
    kernel, targets = problem(4, 5, 4, 32, scale=3.0)
    bound = 0.1 * targets
    expected = svm.solve_dual(kernel, targets, 0.1).value < bound - 1e-12
    task = Problem(kernel + torch.eye(20), targets, bound)
    assert 0.2 < expected.double().mean() < 0.9
    assert torch.equal(guess_free_surely(task), expected)
    assert torch.equal(admm.guess_free(*task, steps=200), expected)


def test_where_exchanges_go_in_circles_the_sure_guess_ends_them():
    # Many examples of few dimensions and large norm.
    support = features(8, 8, 7, 5, seed=500, scale=60.0)[0].flatten(1, 2)
    targets = torch.eye(8, dtype=torch.float64).repeat_interleave(7, 0).repeat(8, 1, 1)
    kernel = support @ support.mT
    task = Problem(kernel + torch.eye(56), targets, targets)
    guess = admm.guess_free(*task, steps=20 + 56 // 5)
    alone = solve_exactly(task, guess, 1e-10, 15)
    assert alone.unsolved.any()
    solution = svm.solve_dual(kernel, targets, 1.0)
    assert (solution.status == Status.SOLVED).all()
    assert solution.steps > 15


def test_the_residual_is_zero_at_the_solution_only():
    kernel, targets = problem(1, 3, 2)
    task = Problem(kernel + torch.eye(6), targets, 0.1 * targets)
    value = svm.solve_dual(kernel, targets, 0.1).value
    assert optimality(task, value).residual < 1e-12
    draws = torch.Generator().manual_seed(0)
    for _ in range(50):
        change = torch.randn(value.shape, generator=draws, dtype=torch.float64)
        other = value + 1e-4 * change / change.abs().max()
        assert optimality(task, other).residual > 1e-6


# Gradients.


@pytest.mark.parametrize(
    ("way", "shot", "d", "scale", "C"),
    [(3, 1, 4, 1.0, 0.1), (3, 2, 5, 4.0, 0.1), (3, 2, 2, 6.0, 1.0)],
)
def test_gradient_equals_finite_differences(way, shot, d, scale, C):
    kernel, targets = problem(2, way, shot, d, scale=scale)
    active = (svm.solve_dual(kernel, targets, C).value >= C * targets - 1e-9).double().mean()
    assert 0 <= active < 0.9  # some entries move

    def value(kernel):
        return svm.solve_dual(kernel, targets, C).value

    assert torch.autograd.gradcheck(value, kernel.requires_grad_(), eps=1e-6, atol=1e-6)


def test_gradient_is_finite_where_bounds_are_on_the_verge():
    # Equal examples and a zero kernel: ties everywhere.
    for kernel in (torch.zeros(1, 6, 6), torch.ones(1, 6, 6)):
        targets = torch.eye(3).repeat_interleave(2, 0)[None]
        solution = svm.solve_dual(kernel.requires_grad_(), targets, 0.1)
        assert (solution.status == Status.SOLVED).all()
        solution.value.square().sum().backward()
        assert kernel.grad.isfinite().all()


def test_gradient_of_a_task_that_failed_is_nan_and_the_others_have_theirs():
    kernel, targets = problem(2)
    kernel[0, 1, 1] = torch.nan
    svm.solve_dual(kernel.requires_grad_(), targets, 0.1).value.nansum().backward()
    assert kernel.grad[0].isnan().all()
    assert kernel.grad[1].isfinite().all()
    assert kernel.grad[1].abs().max() > 0


def test_only_the_symmetric_part_of_the_kernel_counts():
    kernel, targets = problem(2)
    skew = torch.randn(2, 12, 12, generator=torch.Generator().manual_seed(1)).double()
    leaning = svm.solve_dual(kernel + skew - skew.mT, targets, 0.1)
    torch.testing.assert_close(leaning.value, svm.solve_dual(kernel, targets, 0.1).value)


def test_classes_of_unequal_size_one_of_a_single_example():
    support = features(2, 3, 4, 8)[0].flatten(1, 2)[:, :9]
    targets = torch.eye(3, dtype=torch.float64)[[0, 0, 0, 0, 1, 1, 1, 1, 2]].repeat(2, 1, 1)
    kernel = support @ support.mT
    solution = svm.solve_dual(kernel, targets, 0.1)
    for i in range(2):
        oracle, _ = by_clarabel(kernel[i].numpy(), targets[i].numpy(), 0.1)
        np.testing.assert_allclose(solution.value[i], oracle, atol=1e-7)


# Bad input.


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_a_kernel_that_is_not_finite_is_a_status(bad):
    kernel, targets = problem(2)
    kernel[0, 1, 1] = bad
    solution = svm.solve_dual(kernel, targets, 0.1)
    assert solution.status.tolist() == [Status.NOT_FINITE, Status.SOLVED]
    assert solution.value[0].isnan().all()
    assert solution.residual[0].isnan()
    assert solution.value[1].isfinite().all()


def test_an_indefinite_kernel_is_a_status_and_a_singular_one_is_solved():
    kernel, targets = problem(3)
    kernel[0] -= 5 * torch.eye(12)
    kernel[1] = 7
    solution = svm.solve_dual(kernel, targets, 0.1)
    assert solution.status.tolist() == [
        Status.NOT_POSITIVE_DEFINITE,
        Status.SOLVED,
        Status.SOLVED,
    ]
    assert solution.value[0].isnan().all()
    oracle, _ = by_clarabel(kernel[1].numpy(), targets[1].numpy(), 0.1)
    np.testing.assert_allclose(solution.value[1], oracle, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_absurd_magnitudes_are_solved_or_reported(dtype):
    for power in range(2, 30, 3):
        kernel, targets = problem(4, 5, 3, 4, scale=10.0**power)
        solution = svm.solve_dual(kernel.to(dtype), targets.to(dtype), 0.1)
        solved = solution.status == Status.SOLVED
        assert solution.value[~solved].isnan().all()
        assert (
            solution.residual[solved] <= {torch.float32: 1e-5, torch.float64: 1e-9}[dtype]
        ).all()
    assert not solved.any()


@pytest.mark.parametrize("C", [0.0, -1.0, float("nan"), float("inf")])
def test_a_bound_that_is_not_positive_raises(C):
    with pytest.raises(ValueError, match="C, the bound of an example's weight"):
        svm.solve_dual(*problem(1), C)


def test_targets_that_are_not_one_example_one_class_raise():
    kernel, targets = problem(1, 3, 2)
    with pytest.raises(ValueError, match="one-hot"):
        svm.solve_dual(kernel, 0.9 * targets, 0.1)
    with pytest.raises(ValueError, match="one-hot"):
        svm.solve_dual(kernel, torch.ones_like(targets), 0.1)
    with pytest.raises(ValueError, match="some class has none"):
        svm.solve_dual(kernel[:, :4, :4], targets[:, :4], 0.1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_gives_what_the_cpu_gives():
    kernel, targets = problem(8, 5, 5, 32, scale=5.0)
    on_cpu = svm.solve_dual(kernel, targets, 0.1)
    on_gpu = svm.solve_dual(kernel.cuda(), targets.cuda(), 0.1)
    torch.testing.assert_close(on_gpu.value.cpu(), on_cpu.value)
    assert on_gpu.status.tolist() == on_cpu.status.tolist()
