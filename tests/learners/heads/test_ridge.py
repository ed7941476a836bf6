import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from fsl_sweep.learners.heads import ridge
from fsl_sweep.learners.heads.solution import Status


def draws(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def kernels(batch=4, size=6, rank=9, seed=0, dtype=torch.float64):
    factor = draws(batch, size, rank, seed=seed, dtype=dtype)
    return factor @ factor.transpose(-1, -2)


def test_solve_equals_the_closed_form_with_the_factor_two():
    kernel, targets = kernels(), draws(4, 6, 3, seed=1)
    solution = ridge.solve(kernel, targets, 50.0)
    for i in range(4):
        expected = 2 * np.linalg.inv(kernel[i].numpy() + 50 * np.eye(6)) @ targets[i].numpy()
        np.testing.assert_allclose(solution.value[i].numpy(), expected, rtol=1e-9)
    assert solution.status.tolist() == [Status.SOLVED] * 4
    assert solution.steps == 1
    assert solution.residual.max() < 1e-13


@pytest.mark.parametrize("features", [4, 6, 40])
def test_fit_and_predict_equal_scikit_learn_ridge(features):
    support, query = draws(2, 3, 2, features), draws(2, 7, features, seed=1)
    logits = ridge.fit(support, 0.5).predict(query)
    labels = np.eye(3).repeat(2, axis=0)
    for i in range(2):
        oracle = Ridge(alpha=0.5, fit_intercept=False).fit(support[i].flatten(0, 1), labels)
        np.testing.assert_allclose(logits[i].numpy(), 2 * oracle.predict(query[i]), rtol=1e-7)


def test_fit_takes_the_primal_form_exactly_where_it_is_smaller():
    assert ridge.fit(draws(1, 3, 2, 5), 1.0).solution.value.shape == (1, 5, 3)
    assert ridge.fit(draws(1, 3, 2, 6), 1.0).solution.value.shape == (1, 6, 3)
    wide = ridge.fit(draws(1, 3, 2, 9), 1.0)
    assert wide.solution.value.shape == (1, 6, 3)
    assert wide.weights.shape == (1, 9, 3)


def test_a_singular_kernel_is_a_status_and_nan_and_the_others_are_solved():
    kernel, targets = kernels(batch=3), draws(3, 6, 2, seed=1)
    kernel[1] = 0
    solution = ridge.solve(kernel, targets, 0.0)
    assert solution.status.tolist() == [
        Status.SOLVED,
        Status.NOT_POSITIVE_DEFINITE,
        Status.SOLVED,
    ]
    assert solution.value[1].isnan().all()
    assert solution.residual[1].isnan()
    expected = 2 * np.linalg.solve(kernel[2].numpy(), targets[2].numpy())
    np.testing.assert_allclose(solution.value[2].numpy(), expected, rtol=1e-6)


def test_targets_of_zero_have_a_solution_of_zero():
    kernel, targets = kernels(batch=2), draws(2, 6, 2, seed=1)
    targets[0] = 0
    solution = ridge.solve(kernel, targets, 1.0)
    assert solution.status.tolist() == [Status.SOLVED, Status.SOLVED]
    assert not solution.value[0].any()
    assert solution.residual[0] == 0
    assert solution.value[1].any()


def test_with_and_without_a_gradient_the_solution_is_the_same():
    kernel, targets = kernels(), draws(4, 6, 3, seed=1)
    kernel[2] = torch.nan
    plain = ridge.solve(kernel, targets, 2.0)
    recorded = ridge.solve(kernel.clone().requires_grad_(), targets, 2.0)
    assert recorded.value.requires_grad
    assert not plain.value.requires_grad
    torch.testing.assert_close(recorded.value.detach(), plain.value, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(recorded.residual, plain.residual, equal_nan=True)
    assert recorded.status.tolist() == plain.status.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_nearly_singular_kernel_is_never_silently_wrong(seed):
    kernel = kernels(batch=16, size=12, rank=4, seed=seed, dtype=torch.float32)
    solution = ridge.solve(kernel, draws(16, 12, 3, seed=9, dtype=torch.float32), 0.0)
    assert (solution.status != Status.SOLVED).all()
    assert solution.value.isnan().all()


@pytest.mark.parametrize("bad", [torch.nan, -torch.inf])
@pytest.mark.parametrize("where", ["kernel", "targets"])
def test_values_that_are_not_finite_are_a_status(bad, where):
    inputs = {"kernel": kernels(batch=2), "targets": draws(2, 6, 2, seed=1)}
    inputs[where][0, 1, 1] = bad
    solution = ridge.solve(**inputs, lam=1.0)
    assert solution.status.tolist() == [Status.NOT_FINITE, Status.SOLVED]
    assert solution.value[0].isnan().all()
    assert solution.value[1].isfinite().all()


@pytest.mark.parametrize("features", [3, 12])
def test_gradients(features):
    support = draws(2, 3, 2, features).requires_grad_()
    query = draws(2, 4, features, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda s, q: ridge.fit(s, 2.0).predict(q), (support, query))


def test_kernel_may_come_without_gradient():
    targets = draws(1, 6, 2).requires_grad_()
    ridge.solve(kernels(batch=1), targets, 1.0).value.sum().backward()
    assert targets.grad is not None


def test_large_unnormalised_float32_features_are_solved():
    support = 3 * draws(8, 5, 15, 16_000, dtype=torch.float32).abs()
    assert (ridge.fit(support, 50.0).solution.status == Status.SOLVED).all()
