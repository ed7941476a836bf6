import itertools

import cvxpy
import numpy as np
import pytest
import torch
from small import assert_statuses, features, generator, normal

from fsl_sweep.learners.heads import svm
from fsl_sweep.learners.heads.active_set import Problem, optimality, solve_exactly
from fsl_sweep.learners.heads.guesses import guess_free, guess_free_surely
from fsl_sweep.learners.heads.solution import Status


def scaled(batch, way, shot, d, seed=0, scale=1.0, mean=0.0):
    """Features of supports and of ten queries."""
    return [scale * (mean + part) / d**0.5 for part in features(way, shot, d, 10, batch, seed)]


def problem(batch=3, way=4, shot=3, d=8, **options):
    support = scaled(batch, way, shot, d, **options)[0].flatten(1, 2)
    targets = torch.eye(way, dtype=torch.float64).repeat_interleave(shot, 0)
    return support @ support.mT, targets.repeat(batch, 1, 1)


def whole(kernel, targets, C=0.1):
    return Problem(kernel + torch.eye(kernel.shape[-1]), targets, C * targets)


def objective(kernel, targets, value):
    hessian = kernel + np.eye(len(kernel))
    return 0.5 * np.sum(value * (hessian @ value)) - np.sum(targets * value)


def by_clarabel(kernel, targets, C):
    """The dual by a general interior-point solver."""
    values, vectors = np.linalg.eigh(kernel + np.eye(len(kernel)))
    root = (vectors * np.sqrt(values)).T
    A = cvxpy.Variable(targets.shape)
    loss = 0.5 * cvxpy.sum_squares(root @ A) - cvxpy.sum(cvxpy.multiply(targets, A))
    limits = [C * targets - A >= 0, cvxpy.sum(A, axis=1) == 0]
    task = cvxpy.Problem(cvxpy.Minimize(loss), limits)
    task.solve(cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return A.value


@pytest.mark.slow
def test_objective_and_predictions_equal_those_of_clarabel():
    """Of two problems of each of five sizes and five scales and means, 50 in all."""
    sizes = [(2, 1, 16), (5, 1, 64), (5, 5, 64), (3, 10, 16), (20, 1, 64)]
    scales = [(1.0, 0.0), (3.0, 0.0), (10.0, 0.0), (10.0, 1.0), (30.0, 0.0)]
    agreeing = []
    for seed, ((way, shot, d), scale) in enumerate(itertools.product(sizes, scales)):
        support, query = scaled(2, way, shot, d, seed, *scale)
        fits = [svm.fit(support.to(dtype), 0.1) for dtype in (torch.float32, torch.float64)]
        examples, targets = support.flatten(1, 2).numpy(), np.eye(way).repeat(shot, axis=0)
        for task in range(2):
            kernel = examples[task] @ examples[task].T
            oracle = by_clarabel(kernel, targets, 0.1)
            best = objective(kernel, targets, oracle)
            expected = (query[task].numpy() @ (examples[task].T @ oracle)).argmax(-1)
            for fit in fits:
                value = fit.solution.value[task].double().numpy()
                assert objective(kernel, targets, value) == pytest.approx(best, rel=1e-5)
                logits = fit.predict(query.to(fit.weights.dtype))[task].numpy()
                agreeing.append((logits.argmax(-1) == expected).mean())
    assert min(np.reshape(agreeing, (-1, 2)).mean(0)) >= 0.999


def kkt_violation(kernel, targets, C, value):
    """How far Y - (K + I)A is from constant below the bounds, and lower than that elsewhere."""
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
    assert_statuses(solution)
    assert solution.residual.max() <= 1e-9
    size = max(1, kernel.max().item())
    for task in zip(kernel.numpy(), targets.numpy(), solution.value.numpy(), strict=True):
        assert kkt_violation(*task[:2], C, task[2]) < 1e-8 * size


@pytest.mark.parametrize("sizes", [(8, 5, 5, 32), (8, 5, 15, 64), (2, 20, 5, 64)], ids=str)
def test_float32_is_the_float64_solution_rounded_also_of_large_tasks(sizes):
    kernel, targets = problem(*sizes, scale=5.0)
    single = kernel.float()
    exact = svm.solve_dual(single.double(), targets, 0.1).value
    solution = svm.solve_dual(single, targets.float(), 0.1)
    assert solution.value.dtype == solution.residual.dtype == torch.float32
    assert_statuses(solution)
    assert solution.residual.max() < 1e-6
    torch.testing.assert_close(solution.value, exact.float(), rtol=1e-6, atol=1e-8)


def test_both_guesses_find_the_active_bounds_and_exchanges_end_there_from_any_guess():
    kernel, targets = problem(4, 5, 4, 32, scale=3.0)
    task, expected = whole(kernel, targets), svm.solve_dual(kernel, targets, 0.1).value
    free = expected < task.bound - 1e-12
    assert 0.2 < free.double().mean() < 0.9
    assert torch.equal(guess_free_surely(task), free)
    assert torch.equal(guess_free(task, steps=200), free)
    labels = targets == 1
    for guess in (labels, torch.ones_like(labels), ~free | labels):
        outcome = solve_exactly(task, guess, 1e-10, 30)
        assert outcome.steps > 1
        torch.testing.assert_close(outcome.value, expected, rtol=1e-9, atol=1e-11)


def test_where_exchanges_go_in_circles_the_sure_guess_ends_them():
    # Many examples of few dimensions and large norm.
    kernel, targets = problem(8, 8, 7, 5, seed=500, scale=60.0)
    task = whole(kernel, targets, 1.0)
    guess = guess_free(task, steps=20 + 56 // 5)
    assert solve_exactly(task, guess, 1e-10, 15).unsolved.any()
    solution = svm.solve_dual(kernel, targets, 1.0)
    assert_statuses(solution)
    assert solution.steps > 15


def test_the_residual_is_zero_at_the_solution_only():
    kernel, targets = problem(1, 3, 2)
    task, value = whole(kernel, targets), svm.solve_dual(kernel, targets, 0.1).value
    assert optimality(task, value)[0] < 1e-12
    changes = torch.randn(50, *value.shape, generator=generator(), dtype=torch.float64)
    for change in changes:
        assert optimality(task, value + 1e-4 * change / change.abs().max())[0] > 1e-6


@pytest.mark.parametrize(
    ("way", "shot", "d", "scale", "C"),
    [(3, 1, 4, 1.0, 0.1), (3, 2, 5, 4.0, 0.1), (3, 2, 2, 6.0, 1.0)],
)
def test_gradient_equals_finite_differences(way, shot, d, scale, C):
    kernel, targets = problem(2, way, shot, d, scale=scale)

    def value(kernel):
        return svm.solve_dual(kernel, targets, C).value

    assert (value(kernel) >= C * targets - 1e-9).double().mean() < 0.9  # some entries move
    assert torch.autograd.gradcheck(value, kernel.requires_grad_(), eps=1e-6, atol=1e-6)


def test_gradient_is_finite_where_bounds_are_on_the_verge():
    # Equal examples and a zero kernel: ties everywhere.
    for kernel in (torch.zeros(1, 6, 6), torch.ones(1, 6, 6)):
        targets = torch.eye(3).repeat_interleave(2, 0)[None]
        solution = svm.solve_dual(kernel.requires_grad_(), targets, 0.1)
        assert_statuses(solution)
        solution.value.square().sum().backward()
        assert kernel.grad.isfinite().all()


@pytest.mark.parametrize("variant", ["cut to bound memory", "leaning", "gpu"])
def test_other_ways_to_give_the_same_problem_have_the_same_solution(variant, monkeypatch):
    if variant == "gpu" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    kernel, targets = problem(5)
    expected = svm.solve_dual(kernel, targets, 0.1)
    if variant == "leaning":  # only the symmetric part of the kernel counts
        skew = normal(5, 12, 12)
        kernel = kernel + skew - skew.mT
    elif variant == "gpu":
        kernel, targets = kernel.cuda(), targets.cuda()
    else:
        monkeypatch.setattr(svm, "_NUMBERS_AT_ONCE", 2 * 4 * 12 * 12)
    solution = svm.solve_dual(kernel, targets, 0.1)
    torch.testing.assert_close(solution.value.cpu(), expected.value)
    assert solution.status.tolist() == expected.status.tolist()


def test_classes_may_be_of_unequal_size_and_a_kernel_singular():
    kernel, targets = problem(2, 3, 4)
    unequal = kernel[:, :9, :9], targets[:, :9]  # the last class has a single example
    singular = torch.full_like(kernel, 7.0), targets
    for kernel, targets in (unequal, singular):
        solution = svm.solve_dual(kernel, targets, 0.1)
        assert_statuses(solution)
        for task in zip(kernel.numpy(), targets.numpy(), solution.value, strict=True):
            np.testing.assert_allclose(task[2], by_clarabel(*task[:2], 0.1), atol=1e-7)


@pytest.mark.parametrize(
    ("bad", "status"), [(torch.nan, Status.NOT_FINITE), (-9.0, Status.NOT_POSITIVE_DEFINITE)]
)
def test_a_task_that_cannot_be_solved_has_no_gradient_and_the_others_have_theirs(bad, status):
    kernel, targets = problem(2)
    kernel[0, 1, 1] = bad
    solution = svm.solve_dual(kernel.requires_grad_(), targets, 0.1)
    assert_statuses(solution, status, 0)
    assert solution.residual[0].isnan()
    solution.value.nansum().backward()
    assert kernel.grad[0].isnan().all()
    assert kernel.grad[1].isfinite().all()
    assert kernel.grad[1].any()


@pytest.mark.parametrize(("dtype", "promise"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])
def test_absurd_magnitudes_are_solved_or_reported(dtype, promise):
    for power in range(2, 30, 3):
        kernel, targets = problem(4, 5, 3, 4, scale=10.0**power)
        solution = svm.solve_dual(kernel.to(dtype), targets.to(dtype), 0.1)
        solved = solution.status == Status.SOLVED
        assert solution.value[~solved].isnan().all()
        assert (solution.residual[solved] <= promise).all()
    assert not solved.any()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        *(({"C": C}, "C, the bound of an example's weight") for C in (0.0, -1.0, np.nan, np.inf)),
        ({"targets": 0.9 * torch.eye(3)[None]}, "one-hot"),
        ({"targets": torch.ones(1, 3, 3)}, "one-hot"),
        ({"targets": torch.eye(3)[None, [0, 1, 1]]}, "some class has none"),
        ({"targets": torch.ones(1, 3, 1)}, "at least 2 classes"),
        ({"targets": torch.eye(2)[None]}, "must be"),
    ],
)
def test_a_task_that_is_none_raises(change, problem):
    with pytest.raises(ValueError, match=problem):
        svm.solve_dual(
            **{"kernel": torch.eye(3)[None], "targets": torch.eye(3)[None], "C": 0.1, **change}
        )
