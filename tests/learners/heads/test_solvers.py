"""The solvers of heads against their oracles, and what all of them promise.

A status for each task, and NaN where it is not solved.
"""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression, Ridge
from small import assert_statuses, features, generator, normal, transported

from fsl_sweep.learners.heads import logistic, ridge, svm, transport
from fsl_sweep.learners.heads.solution import Status

SOLVERS = {
    "ridge": lambda support: ridge.fit(support, 1.0).solution,
    "ridge targets": lambda support: ridge.solve(
        torch.eye(6, dtype=support.dtype).expand(3, -1, -1), support.flatten(1, 2), 1.0
    ),
    "svm": lambda support: svm.fit(support, 0.1).solution,
    "logistic": lambda support: logistic.fit(support, 1.0).solution,
    "transport": lambda support: transported(support.flatten(1, 2))[0],
}


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_task_that_is_not_finite_says_so_and_the_others_are_solved(solver, bad):
    support, _ = features(3, 2, 20, tasks=3)
    expected = SOLVERS[solver](support).value
    support[1, 0, 0, 3] = bad
    solution = SOLVERS[solver](support)
    assert_statuses(solution, Status.SOLVED, Status.NOT_FINITE, Status.SOLVED)
    torch.testing.assert_close(solution.value[[0, 2]], expected[[0, 2]])
    assert solution.residual.isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("module", [logistic, transport], ids=["logistic", "transport"])
def test_too_few_steps_are_reported(module, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    if module is logistic:
        solution = logistic.fit(features(5, 5, 8)[0], 100.0).solution
    else:
        solution, _ = transported(4 * normal(2, 75, 5), 50.0)
    assert_statuses(solution, Status.INEXACT, Status.INEXACT)
    assert (solution.residual > 0).all()


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


CASES = itertools.product([(5, 1, 16), (3, 4, 50), (4, 15, 3)], (0.01, 1.0, 100.0))


@pytest.mark.parametrize(
    ("way", "shot", "d", "C", "dtype", "atol"),
    [
        *((*shape, C, torch.float64, 1e-7) for shape, C in CASES),
        *((5, shot, d, 1.0, torch.float32, 1e-3) for shot, d in [(1, 16), (5, 8), (5, 200)]),
        (2, 4, 6, 1.0, torch.float64, 1e-8),
    ],
)
def test_probabilities_are_those_of_scikit_learn_in_double(way, shot, d, C, dtype, atol):
    support, query = features(way, shot, d, tasks=3)
    fit = logistic.fit(support.to(dtype), C)
    assert_statuses(fit.solution)
    chances = fit.predict(query.to(dtype)).softmax(dim=-1)
    assert chances.dtype == dtype
    # Of two classes scikit-learn penalises the difference only; large problems are slow exactly.
    solver = "newton-cholesky" if d < 100 else "lbfgs"
    model = LogisticRegression(C=C * (1 + (way == 2)), tol=1e-9, max_iter=1000, solver=solver)
    for task, examples in enumerate(support.flatten(1, 2).numpy()):
        expected = model.fit(examples, np.arange(way).repeat(shot)).predict_proba(query[task])
        np.testing.assert_allclose(chances[task], expected, atol=atol)


@given(
    seed=st.integers(0, 2**31),
    way=st.integers(2, 6),
    shot=st.integers(1, 5),
    d=st.integers(1, 30),
    C=st.sampled_from([0.1, 1.0, 50.0]),
)
@settings(max_examples=30, deadline=None)
def test_the_gradient_vanishes_at_the_answer(seed, way, shot, d, C):
    support, _ = features(way, shot, d, tasks=1, seed=seed)
    fit = logistic.fit(support, C)
    X, Y = support[0].reshape(-1, d).numpy(), np.eye(way).repeat(shot, axis=0)
    W, b = fit.weights[0].numpy(), fit.intercept[0].numpy()
    error = np.exp(log_softmax(X @ W + b, axis=1)) - Y
    scale = np.linalg.norm(C * X.T @ Y) + C
    assert np.abs(W + C * X.T @ error).max() <= 1e-8 * scale
    assert np.abs(C * error.sum(axis=0)).max() <= 1e-8 * scale
    assert abs(b.sum()) <= 1e-8 * (1 + np.abs(b).max())


def test_equal_examples_of_different_classes_are_undecided():
    fit = logistic.fit(torch.ones(1, 3, 2, 4, dtype=torch.float64), 1.0)
    chances = fit.predict(torch.randn(1, 5, 4, dtype=torch.float64)).softmax(dim=-1)
    torch.testing.assert_close(chances, torch.full_like(chances, 1 / 3))


def costs(m, n, seed=0):
    return 4 * torch.rand(4, m, n, generator=generator(seed), dtype=torch.float64)


@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("m", "n"), [(75, 5), (6, 2), (7, 3), (40, 20)])
def test_marginals_are_met(m, n, lam):
    solution, _ = transported(costs(m, n), lam)
    assert_statuses(solution)
    assert (solution.value >= 0).all()
    for dim, amount in ((2, 1), (1, m / n)):
        sums = solution.value.sum(dim)
        torch.testing.assert_close(sums, torch.full_like(sums, amount))


@pytest.mark.parametrize("lam", [0.5, 3.0])
def test_the_plan_is_the_one_that_sinkhorns_rule_ends_at(lam):
    cost, draws = costs(8, 3), np.random.default_rng(0)
    rows, columns = draws.uniform(0.5, 2, (4, 8)), draws.uniform(0.5, 2, (4, 3))
    columns *= rows.sum(axis=1, keepdims=True) / columns.sum(axis=1, keepdims=True)
    solution, _ = transport.transport(cost, torch.from_numpy(rows), torch.from_numpy(columns), lam)
    expected = np.exp(-lam * cost.numpy())
    for _ in range(2000):
        expected *= (rows / expected.sum(axis=2))[:, :, None]
        expected *= (columns / expected.sum(axis=1))[:, None]
    np.testing.assert_allclose(solution.value.numpy(), expected, rtol=1e-7, atol=1e-12)


def test_a_large_lambda_gives_the_cheapest_assignment():
    cost = costs(5, 5, seed=3)
    shares = transported(cost, 200.0)[0].value
    for task in range(4):
        chosen = linear_sum_assignment(cost[task].numpy())[1]
        assert shares[task].argmax(dim=1).tolist() == chosen.tolist()


def test_costs_that_decide_clearly_in_the_wrong_amounts_are_solved():
    cost = costs(40, 4, seed=1)
    cost[:, :30, 0] = 0  # three quarters want the class that may have one quarter
    solution, _ = transported(cost, 30.0)
    assert_statuses(solution)
    assert solution.steps < 60


def test_float32_is_solved_too_and_a_good_start_saves_steps():
    cost = costs(75, 5).float()
    single, exact = (transported(values)[0] for values in (cost, cost.double()))
    assert single.value.dtype == torch.float32
    torch.testing.assert_close(single.value.double(), exact.value, rtol=0, atol=1e-3)
    again, _ = transported(cost.double(), 10.0, transported(cost.double())[1])
    assert again.steps < exact.steps
    torch.testing.assert_close(again.value, exact.value)
