import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from small import assert_statuses, features

from fsl_sweep.learners.heads import logistic

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
