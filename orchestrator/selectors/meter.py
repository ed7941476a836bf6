"""Novel tasks behind a meter, for a selector with a budget.

One *evaluation* is one snapshot on all of its novel selection tasks. Measuring a snapshot on k of
its T tasks costs k / T, and going from k to more costs the difference. Reading again costs nothing.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any, final

import numpy as np

from fsl_sweep.orchestrator.errors import BudgetSpent, SelectionError


class Account:
    """The budget of one selection, in novel evaluations, and what it has ``spent``."""

    def __init__(self, selector: str, budget: int) -> None:
        self.selector, self.budget, self.spent = selector, budget, Fraction(0)

    @property
    def evaluations(self) -> int:
        """Return what was spent, rounded up to whole evaluations."""
        return ceil(self.spent)

    def pay(self, cost: Fraction) -> None:
        """Spend ``cost``. Raises BudgetSpent, and spends nothing, if it exceeds what is left."""
        if self.spent + cost > self.budget:
            raise BudgetSpent(self.selector, self.budget)
        self.spent += cost


@final
class Meter:
    """The novel selection tasks of one selected snapshot.

    Args:
        account: what pays.
        mean: accuracy on all tasks.
        load: reads the accuracy of each task ``[T]``; None if only the mean was recorded.
    """

    __slots__ = ("_account", "_load", "_mean", "_seen")

    def __init__(
        self, account: Account, mean: float, load: Callable[[], np.ndarray] | None
    ) -> None:
        self._account, self._mean, self._seen = account, mean, Fraction(0)
        self._load = None if load is None else cache(load)

    @property
    def tasks(self) -> int:
        """Return the number of tasks; 1 if only the mean was recorded."""
        return 1 if self._load is None else len(self._load())

    def accuracy(self, tasks: int | None = None) -> float:
        """Measure the mean accuracy on the first ``tasks`` (all by default), in [0, 1]; may be NaN.

        Tasks are independent draws in a fixed order that is common to all snapshots, so that the
        first ones are a fair sample, and comparisons are paired.

        Raises:
            BudgetSpent: the budget does not cover it.
            ValueError: ``tasks`` is not between 1 and the number of tasks.
        """
        if tasks is not None and not 1 <= tasks <= self.tasks:
            raise ValueError(f"{tasks} tasks cannot be measured: there are {self.tasks}.")
        part = Fraction(1) if tasks is None else Fraction(tasks, self.tasks)
        self._account.pay(max(part - self._seen, Fraction(0)))
        self._seen = max(self._seen, part)
        if part == 1 or self._load is None:
            return self._mean  # without reading the tasks, which is slow
        return float(np.mean(self._load()[:tasks]))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Meter":
        return self  # a copy would have a budget of its own

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("A meter cannot be pickled: its budget would be spent twice.")


def share(budget: Fraction, meters: Sequence[Meter]) -> int:
    """Return tasks for each snapshot if ``budget`` evaluations are shared equally among them.

    Raises:
        SelectionError: that is less than one task each.
    """
    count = meters[0].tasks
    each = min(count, int(budget * count / len(meters)))
    if each < 1:
        raise SelectionError(
            f"{float(budget):g} novel evaluations of {count} tasks cannot be shared among "
            f"{len(meters)} candidates: that is less than a task each. Raise the budget, or "
            "spend it with 'top'."
        )
    return each
