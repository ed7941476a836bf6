import numpy as np
import pytest
from choosing import candidates

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors import apply, hyperparameter_selector
from fsl_sweep.orchestrator.selectors.apply import apply_counted
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.budgeted_oracle import ALLOCATIONS, BudgetedOracle
from fsl_sweep.orchestrator.selectors.hyperparameter import OracleConfiguration


def measured(val, novel):
    """A candidate for each row of novel accuracies ``[n, T]``."""
    return candidates(np.asarray(novel), val=val, novel=np.mean(novel, axis=1))


# Four configurations on twelve novel tasks; the best is t1, which has the worst ValGen.
FOUR = measured(
    [0.6, 0.1, 0.8, 0.7],
    [
        [0.6] * 6 + [0.2] * 6,  # looks best at first: mean 0.4
        [0.5] * 6 + [0.9] * 6,  # mean 0.7
        [0.4] * 12,
        [0.3] * 12,
    ],
)


@pytest.mark.parametrize(
    ("arguments", "trial", "evaluations"),
    [
        # ValGen ranks t2, t3, t0, t1.
        ("1", "t2", 1),
        ("2", "t2", 2),
        ("3", "t0", 3),  # t0 and t2 tie at 0.4, and t0 comes first
        ("4", "t1", 4),
        (" 9, top ", "t1", 4),
        # 12 / 4 = 3 tasks each, then 6, 9 and all.
        ("1, per-configuration", "t0", 1),
        ("2, per-configuration", "t0", 2),
        ("3, per-configuration", "t1", 3),
        ("5, per-configuration", "t1", 4),
        # Two rounds of half the budget. b=1: 6 task measurements over 4 is 1 task each, then 6 over
        # the 2 that are left is 3 more each: 4 + 6 = 10 of 12, one evaluation when rounded up.
        ("1, halving", "t0", 1),
        # b=2: 3 tasks each, then 6 more of t0 and t1: 12 + 12 = 24 of 24. On 9 tasks they have
        # (0.6 * 6 + 0.2 * 3) / 9 = 0.467 and (0.5 * 6 + 0.9 * 3) / 9 = 0.633.
        ("2, halving", "t1", 2),
        # b=9: all 12 tasks each in the first round; the second has nothing left to measure.
        ("9, halving", "t1", 4),
    ],
)
def test_worked_example(arguments: str, trial: str, evaluations: int) -> None:
    selector = hyperparameter_selector(f"budgeted-oracle({arguments})")
    chosen, seen = apply_counted(selector, FOUR)
    assert (chosen.trial, seen) == (trial, evaluations)
    assert is_oracle(selector)


@pytest.mark.parametrize("allocation", sorted(ALLOCATIONS))
@pytest.mark.parametrize("seed", range(10))
def test_never_more_than_the_budget_and_enough_is_the_oracle(allocation: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    n = int(generator.integers(1, 12))
    given = measured(generator.random(n), generator.random((n, 200)))
    scores = []
    for budget in range(1, n + 1):
        chosen, seen = apply_counted(BudgetedOracle(budget, allocation), given)
        assert seen <= budget
        scores.append(chosen.scores["novel"])
    if allocation == "top":
        assert scores == sorted(scores)
    # Halving spends a round's share evenly, so that the first round must cover everything.
    enough = n * max(1, (n - 1).bit_length()) if allocation == "halving" else n
    assert apply(BudgetedOracle(enough, allocation), given) is apply(OracleConfiguration(), given)


def test_nan_val_is_not_worth_an_evaluation() -> None:
    given = measured([float("nan"), 0.2, 0.1], [[0.9] * 4, [0.3] * 4, [0.4] * 4])
    assert apply_counted(BudgetedOracle(3), given) == (given[2], 2)


def test_scores_without_tasks_are_complete_evaluations() -> None:
    given = candidates(val=[0.9, 0.8, 0.7], novel=[0.1, 0.2, 0.3])
    assert apply_counted(BudgetedOracle(2), given) == (given[1], 2)
    assert apply_counted(BudgetedOracle(3, "per-configuration"), given) == (given[2], 3)
    with pytest.raises(SelectionError, match="less than a task each"):
        apply(BudgetedOracle(2, "per-configuration"), given)
