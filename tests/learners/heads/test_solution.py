"""What all solvers of heads promise: a status for each task, and NaN where it is not solved."""

import pytest
import torch
from small import assert_statuses, features, normal, transported

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
