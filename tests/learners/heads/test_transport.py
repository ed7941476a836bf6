import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from fsl_sweep.learners.heads import transport as module
from fsl_sweep.learners.heads.solution import Status


def transport(*given):
    return module.transport(*given)[0]


def costs(m, n, tasks=4, seed=0, dtype=torch.float64):
    draws = torch.Generator().manual_seed(seed)
    return 4 * torch.rand(tasks, m, n, generator=draws, dtype=torch.float64).to(dtype)


def marginals(cost):
    tasks, m, n = cost.shape
    return cost.new_ones(tasks, m), cost.new_full((tasks, n), m / n)


def by_sinkhorn(cost, rows, columns, lam, turns=20_000):
    plan = np.exp(-lam * cost)
    for _ in range(turns):
        plan *= (rows / plan.sum(axis=1))[:, None]
        plan *= columns / plan.sum(axis=0)
    return plan


@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("m", "n"), [(75, 5), (6, 2), (7, 3), (40, 20)])
def test_marginals_are_met(m, n, lam):
    cost = costs(m, n)
    rows, columns = marginals(cost)
    plan = transport(cost, rows, columns, lam)
    assert (plan.status == Status.SOLVED).all()
    assert (plan.value >= 0).all()
    torch.testing.assert_close(plan.value.sum(dim=2), rows)
    torch.testing.assert_close(plan.value.sum(dim=1), columns)


@pytest.mark.parametrize("lam", [0.5, 3.0])
def test_the_plan_is_the_one_that_sinkhorns_rule_ends_at(lam):
    cost = costs(8, 3)
    draws = np.random.default_rng(0)
    rows = draws.uniform(0.5, 2, (4, 8))
    columns = draws.uniform(0.5, 2, (4, 3))
    columns *= rows.sum(axis=1, keepdims=True) / columns.sum(axis=1, keepdims=True)
    found = transport(cost, torch.from_numpy(rows), torch.from_numpy(columns), lam).value
    for task in range(4):
        expected = by_sinkhorn(cost[task].numpy(), rows[task], columns[task], lam, 2000)
        np.testing.assert_allclose(found[task].numpy(), expected, rtol=1e-7, atol=1e-12)


def test_a_large_lambda_gives_the_cheapest_assignment():
    cost = costs(5, 5, seed=3)
    plan = transport(cost, *marginals(cost), 200.0).value
    for task in range(4):
        chosen = linear_sum_assignment(cost[task].numpy())[1]
        assert plan[task].argmax(dim=1).tolist() == chosen.tolist()


def test_costs_that_decide_clearly_in_the_wrong_amounts_are_solved():
    cost = costs(40, 4, seed=1)
    cost[:, :30, 0] = 0  # three quarters want the class that may have one quarter
    plan = transport(cost, *marginals(cost), 30.0)
    assert (plan.status == Status.SOLVED).all()
    assert plan.steps < 60


def test_float32_is_solved_too():
    cost = costs(75, 5, dtype=torch.float32)
    rows, columns = marginals(cost)
    plan = transport(cost, rows, columns, 10.0)
    assert plan.value.dtype == torch.float32
    exact = transport(cost.double(), rows.double(), columns.double(), 10.0).value
    torch.testing.assert_close(plan.value.double(), exact, rtol=0, atol=1e-3)


def test_costs_that_are_not_finite_say_so_and_the_others_are_solved():
    cost = costs(6, 3)
    cost[1, 0, 0] = torch.nan
    plan = transport(cost, *marginals(cost), 10.0)
    assert plan.status.tolist() == [0, Status.NOT_FINITE, 0, 0]
    assert plan.value[1].isnan().all()
    assert plan.value[[0, 2, 3]].isfinite().all()


def test_too_few_steps_are_reported(monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    cost = costs(75, 5)
    plan = transport(cost, *marginals(cost), 50.0)
    assert (plan.status == Status.INEXACT).all()
    assert plan.value.isnan().all()


def test_a_good_start_saves_steps_and_does_not_change_the_plan():
    cost = costs(75, 5)
    first, potentials = module.transport(cost, *marginals(cost), 10.0)
    again = transport(cost, *marginals(cost), 10.0, potentials)
    assert again.steps < first.steps
    torch.testing.assert_close(again.value, first.value)
