"""A budget is kept by construction: what cheating selectors can reach is not more than paid for."""

import copy
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from choosing import candidates, selecting
from following import SECRET

from fsl_sweep.orchestrator.errors import BudgetSpent, SealedMeasurement, SelectorFault
from fsl_sweep.orchestrator.selectors import Candidate, HyperparameterSelector, apply
from fsl_sweep.orchestrator.selectors.apply import apply_counted
from fsl_sweep.orchestrator.selectors.meter import Account, Meter

GIVEN = candidates(np.full((3, 8), SECRET), val=[0.5] * 3, novel=[SECRET] * 3)


def metered(budget: int, does: Callable[[Sequence[Candidate]], Any]) -> HyperparameterSelector:
    """A selector that does to its candidates what a test wants, and chooses the first."""
    chooses = lambda given: (does(given), given[0])[1]  # noqa: E731
    return selecting(HyperparameterSelector, chooses, "val", "novel", novel_budget=budget)


def test_account_by_hand() -> None:
    account = Account("mine", 2)
    one = Meter(account, 0.5, lambda: np.array([0.2, 0.4, 0.6, 0.8]))
    other = Meter(account, 0.7, lambda: np.array([0.6, 0.6, 0.8, 0.8]))
    assert one.tasks == 4
    for meter, tasks, accuracy, spent in (
        (one, 1, 0.2, Fraction(1, 4)),
        (one, 2, 0.3, Fraction(1, 2)),
        (one, 1, 0.2, Fraction(1, 2)),  # what was seen is known
        (one, None, 0.5, 1),
        (other, 3, 2 / 3, Fraction(7, 4)),
        (other, 4, 0.7, 2),
    ):
        assert meter.accuracy(tasks) == pytest.approx(accuracy)
        assert account.spent == spent
        assert account.evaluations == (1 if spent <= 1 else 2)
    with pytest.raises(BudgetSpent, match="'mine' asked for more than the 2 novel evaluations"):
        Meter(account, 0.1, None).accuracy()
    assert account.spent == 2
    for tasks in (0, -1, 5):
        with pytest.raises(ValueError, match="there are 4"):
            Meter(Account("mine", 9), 0.5, lambda: np.ones(4)).accuracy(tasks)


def test_counting() -> None:
    # Three candidates on 3 of 8 tasks: 9 / 8 of an evaluation.
    spends = metered(3, lambda given: [one.novel.accuracy(3) for one in given])
    assert apply_counted(spends, GIVEN)[1] == 2
    assert apply_counted(metered(3, lambda given: None), GIVEN)[1] == 0


@pytest.mark.parametrize("copied", [lambda one: one, copy.copy, copy.deepcopy])
def test_no_more_than_the_budget_is_seen(copied: Callable[[Candidate], Candidate]) -> None:
    def cheat(given: Sequence[Candidate]) -> None:
        selector.novel_budget = 99  # counts from the next selection
        seen.extend(copied(one).novel.accuracy() for one in given)

    seen: list[float] = []
    selector = metered(2, cheat)
    with pytest.raises(BudgetSpent) as caught:
        apply(selector, GIVEN)
    assert (caught.value.selector, caught.value.budget, len(seen)) == ("made", 2, 2)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), BudgetSpent)


@pytest.mark.parametrize(
    ("cheat", "error"),
    [
        (lambda given: pickle.dumps(given[0]), SelectorFault),
        (lambda given: given[0].scores["novel"], SealedMeasurement),
        (lambda given: given[0].tasks["novel"], SealedMeasurement),
        (lambda given: given[0].history.view({"novel"}), SealedMeasurement),
        (lambda given: given[0].metered(Account("another", 99)).accuracy(), SealedMeasurement),
        (lambda given: copy.deepcopy(given[0]).scores["novel"], SealedMeasurement),
    ],
)
def test_novel_is_sealed_except_for_the_meter(cheat: Callable[..., Any], error: type) -> None:
    message = "TypeError: A meter cannot be pickled" if error is SelectorFault else "read 'novel'"
    with pytest.raises(error, match=message):
        apply(metered(3, cheat), GIVEN)
