import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from fsl_sweep.learners.heads import logistic
from fsl_sweep.learners.heads.solution import Status


def features(seed, way, shot, d, tasks=3, dtype=torch.float64):
    draws = torch.Generator().manual_seed(seed)
    centres = torch.randn(tasks, way, 1, d, generator=draws, dtype=torch.float64)
    support = centres + torch.randn(tasks, way, shot, d, generator=draws, dtype=torch.float64)
    query = torch.randn(tasks, 6, d, generator=draws, dtype=torch.float64)
    return support.to(dtype), query.to(dtype)


def by_sklearn(support, query, C):
    way, shot, d = support.shape
    model = LogisticRegression(C=C, tol=1e-9, max_iter=1000, solver="newton-cholesky")
    model.fit(support.reshape(-1, d).double().numpy(), np.arange(way).repeat(shot))
    return model.predict_proba(query.double().numpy())


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("way", "shot", "d"), [(5, 1, 16), (3, 4, 50), (4, 15, 3)])
def test_probabilities_are_those_of_scikit_learn(way, shot, d, C):
    support, query = features(1, way, shot, d)
    fit = logistic.fit(support, C)
    assert (fit.solution.status == Status.SOLVED).all()
    found = fit.predict(query).softmax(dim=-1).numpy()
    for task in range(len(support)):
        expected = by_sklearn(support[task], query[task], C)
        np.testing.assert_allclose(found[task], expected, atol=1e-7)


@pytest.mark.parametrize(("way", "shot", "d"), [(5, 1, 16), (5, 5, 8), (5, 5, 200)])
def test_float32_agrees_with_scikit_learn_in_double(way, shot, d):
    support, query = features(2, way, shot, d, dtype=torch.float32)
    found = logistic.fit(support, 1.0).predict(query).softmax(dim=-1)
    assert found.dtype == torch.float32
    for task in range(len(support)):
        expected = by_sklearn(support[task], query[task], 1.0)
        np.testing.assert_allclose(found[task].numpy(), expected, atol=1e-3)


def test_two_classes_are_scikit_learns_with_twice_the_c():
    support, query = features(3, 2, 4, 6)
    found = logistic.fit(support, 1.0).predict(query).softmax(dim=-1).numpy()
    for task in range(len(support)):
        expected = by_sklearn(support[task], query[task], 2.0)
        np.testing.assert_allclose(found[task], expected, atol=1e-8)


@given(
    seed=st.integers(0, 2**32),
    way=st.integers(2, 6),
    shot=st.integers(1, 5),
    d=st.integers(1, 30),
    C=st.sampled_from([0.1, 1.0, 50.0]),
)
@settings(max_examples=30, deadline=None)
def test_the_gradient_vanishes_at_the_answer(seed, way, shot, d, C):
    support, _ = features(seed % 2**31, way, shot, d, tasks=1)
    fit = logistic.fit(support, C)
    X, Y = support[0].reshape(-1, d).numpy(), np.eye(way).repeat(shot, axis=0)
    W, b = fit.weights[0].numpy(), fit.intercept[0].numpy()
    error = np.exp(log_softmax(X @ W + b, axis=1)) - Y
    scale = np.linalg.norm(C * X.T @ Y) + C
    assert np.abs(W + C * X.T @ error).max() <= 1e-8 * scale
    assert np.abs(C * error.sum(axis=0)).max() <= 1e-8 * scale
    assert abs(b.sum()) <= 1e-8 * (1 + np.abs(b).max())


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_task_that_is_not_finite_says_so_and_the_others_are_solved(bad):
    support, query = features(5, 3, 2, 20)
    expected = logistic.fit(support, 1.0).predict(query)
    support[1, 0, 0, 3] = bad
    fit = logistic.fit(support, 1.0)
    assert fit.solution.status.tolist() == [Status.SOLVED, Status.NOT_FINITE, Status.SOLVED]
    answers = fit.predict(query)
    assert answers[1].isnan().all()
    torch.testing.assert_close(answers[[0, 2]], expected[[0, 2]])


def test_too_few_steps_are_reported(monkeypatch):
    monkeypatch.setattr(logistic, "MOST_STEPS", 1)
    support, query = features(6, 5, 5, 8)
    fit = logistic.fit(support, 100.0)
    assert (fit.solution.status == Status.INEXACT).all()
    assert (fit.solution.residual > 0).all()
    assert fit.predict(query).isnan().all()


def test_equal_examples_of_different_classes_are_undecided():
    support = torch.ones(1, 3, 2, 4, dtype=torch.float64)
    fit = logistic.fit(support, 1.0)
    chances = fit.predict(torch.randn(1, 5, 4, dtype=torch.float64)).softmax(dim=-1)
    torch.testing.assert_close(chances, torch.full_like(chances, 1 / 3))
