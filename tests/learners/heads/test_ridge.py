import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from small import assert_statuses, normal

from fsl_sweep.learners.heads import ridge
from fsl_sweep.learners.heads.solution import Status


def problem(batch=4, size=6, rank=9, seed=0, dtype=torch.float64):
    """Kernels and targets of three classes."""
    factor = normal(batch, size, rank, seed=seed, dtype=dtype)
    return factor @ factor.mT, normal(batch, size, 3, seed=seed + 1, dtype=dtype)


def test_solve_equals_the_closed_form_with_the_factor_two():
    kernel, targets = problem()
    solution = ridge.solve(kernel, targets, 50.0)
    expected = 2 * np.linalg.inv(kernel.numpy() + 50 * np.eye(6)) @ targets.numpy()
    np.testing.assert_allclose(solution.value.numpy(), expected, rtol=1e-9)
    assert_statuses(solution)
    assert solution.steps == 1
    assert solution.residual.max() < 1e-13


@pytest.mark.parametrize(("features", "size"), [(4, 4), (5, 5), (6, 6), (40, 6)])
def test_fit_and_predict_equal_scikit_learn_in_the_smaller_of_both_forms(features, size):
    support, query = normal(2, 3, 2, features), normal(2, 7, features, seed=1)
    fit = ridge.fit(support, 0.5)
    assert fit.solution.value.shape == (2, size, 3)
    assert fit.weights.shape == (2, features, 3)
    labels = np.eye(3).repeat(2, axis=0)
    for task, logits in enumerate(fit.predict(query).numpy()):
        oracle = Ridge(alpha=0.5, fit_intercept=False).fit(support[task].flatten(0, 1), labels)
        np.testing.assert_allclose(logits, 2 * oracle.predict(query[task]), rtol=1e-7)


def test_a_singular_kernel_is_a_status_and_targets_of_zero_have_a_solution_of_zero():
    kernel, targets = problem()
    kernel[1], targets[3] = 0, 0
    solution = ridge.solve(kernel, targets, 0.0)
    assert_statuses(solution, 0, Status.NOT_POSITIVE_DEFINITE, 0, 0)
    assert solution.residual[1].isnan()
    assert solution.residual[3] == 0
    expected = 2 * np.linalg.solve(kernel[2:].numpy(), targets[2:].numpy())
    np.testing.assert_allclose(solution.value[2:].numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("which", [0, 1])
def test_with_and_without_a_gradient_the_solution_is_the_same(which):
    task = problem()
    task[0][2] = torch.nan
    plain = ridge.solve(*task, 2.0)
    assert not plain.value.requires_grad
    task[which].requires_grad_()  # of the kernel or of the targets only
    recorded = ridge.solve(*task, 2.0)
    torch.testing.assert_close(recorded.value, plain.value, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(recorded.residual, plain.residual, equal_nan=True)
    assert recorded.status.tolist() == plain.status.tolist()
    recorded.value.nansum().backward()
    assert task[which].grad is not None


@pytest.mark.parametrize("seed", range(3))
def test_a_nearly_singular_kernel_is_never_silently_wrong(seed):
    solution = ridge.solve(*problem(16, 12, rank=4, seed=seed, dtype=torch.float32), 0.0)
    assert (solution.status != Status.SOLVED).all()
    assert solution.value.isnan().all()


@pytest.mark.parametrize("width", [3, 12])
def test_gradients(width):
    task = [normal(2, *shape, width).requires_grad_() for shape in ((3, 2), (4,))]
    assert torch.autograd.gradcheck(lambda s, q: ridge.fit(s, 2.0).predict(q), task)


def test_large_unnormalised_float32_features_are_solved():
    support = 3 * normal(8, 5, 15, 16_000, dtype=torch.float32).abs()
    assert_statuses(ridge.fit(support, 50.0).solution)
