"""A budget is kept by construction: what cheating selectors can reach is not more than paid for."""

import copy
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from following import SECRET

from fsl_sweep.orchestrator.errors import BudgetSpent, SealedMeasurement, SelectorFault
from fsl_sweep.orchestrator.selectors import HyperparameterSelector, apply
from fsl_sweep.orchestrator.selectors.apply import apply_counted
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.selectors.meter import Account, Meter

TASKS = 8


def candidates(count: int = 3) -> list[Candidate]:
    rows = np.full((count, 1, TASKS), SECRET)
    return [
        Candidate(
            str(i),
            {},
            1,
            History.from_arrays(epochs=[1], val=[0.5], novel=[SECRET], tasks={"novel": rows[i]}),
        )
        for i in range(count)
    ]


class Metered(HyperparameterSelector):
    """Does to its candidates what a test wants, and chooses the first."""

    name: ClassVar[str] = "metered"
    needs: ClassVar[frozenset[str]] = frozenset({"val", "novel"})

    def __init__(self, budget: int, does: Callable[[Sequence[Candidate]], Any]) -> None:
        self.novel_budget, self.does = budget, does

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        self.does(candidates)
        return candidates[0]


def meter(one: Candidate) -> Meter:
    assert one.novel is not None
    return one.novel


def test_account_by_hand() -> None:
    account = Account("mine", 2)
    one = Meter(account, 0.5, lambda: np.array([0.2, 0.4, 0.6, 0.8]))
    other = Meter(account, 0.7, lambda: np.array([0.6, 0.6, 0.8, 0.8]))
    assert one.tasks == 4
    assert one.accuracy(1) == 0.2
    assert account.spent == Fraction(1, 4)
    assert one.accuracy(2) == pytest.approx(0.3)
    assert account.spent == Fraction(1, 2)
    # What was seen is known.
    assert one.accuracy(1) == 0.2
    assert account.spent == Fraction(1, 2)
    assert account.evaluations == 1
    assert one.accuracy() == 0.5
    assert account.spent == 1
    assert other.accuracy(4) == 0.7
    assert account.evaluations == 2
    with pytest.raises(BudgetSpent, match="'mine' asked for more than the 2 novel evaluations"):
        Meter(account, 0.1, None).accuracy()
    assert account.spent == 2


@pytest.mark.parametrize("tasks", [0, -1, 5])
def test_tasks_that_are_not_there(tasks: int) -> None:
    account = Account("mine", 9)
    with pytest.raises(ValueError, match="there are 4"):
        Meter(account, 0.5, lambda: np.ones(4)).accuracy(tasks)
    assert account.spent == 0


def test_counting() -> None:
    spends = Metered(3, lambda given: [meter(one).accuracy(3) for one in given])
    # Three candidates on 3 of 8 tasks: 9 / 8 of an evaluation.
    assert apply_counted(spends, candidates())[1] == 2
    assert apply_counted(Metered(3, lambda given: None), candidates())[1] == 0


@pytest.mark.parametrize("copied", [lambda one: one, copy.copy, copy.deepcopy])
def test_no_more_than_the_budget_is_seen(copied: Callable[[Candidate], Candidate]) -> None:
    def cheat(given: Sequence[Candidate]) -> None:
        selector.novel_budget = 99  # counts from the next selection
        seen.extend(meter(copied(one)).accuracy() for one in given)

    seen: list[float] = []
    selector = Metered(2, cheat)
    with pytest.raises(BudgetSpent) as caught:
        apply(selector, candidates())
    assert (caught.value.selector, caught.value.budget, len(seen)) == ("metered", 2, 2)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), BudgetSpent)


def test_a_meter_cannot_be_pickled() -> None:
    with pytest.raises(SelectorFault, match="TypeError: A meter cannot be pickled"):
        apply(Metered(1, lambda given: pickle.dumps(given[0])), candidates())


@pytest.mark.parametrize(
    "cheat",
    [
        lambda given: given[0].scores["novel"],
        lambda given: given[0].tasks["novel"],
        lambda given: given[0].history.view({"novel"}),
        lambda given: given[0].metered(Account("another", 99)).accuracy(),
        lambda given: copy.deepcopy(given[0]).scores["novel"],
    ],
)
def test_novel_is_sealed_except_for_the_meter(cheat: Callable[[Sequence[Candidate]], Any]) -> None:
    with pytest.raises(SealedMeasurement, match="read 'novel'"):
        apply(Metered(3, cheat), candidates())
