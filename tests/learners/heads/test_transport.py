import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from small import assert_statuses, generator, transported

from fsl_sweep.learners.heads.transport import transport


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
    solution, _ = transport(cost, torch.from_numpy(rows), torch.from_numpy(columns), lam)
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
