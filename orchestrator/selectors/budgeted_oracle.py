"""The best configuration, or snapshot, that a limited number of novel evaluations finds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector
from fsl_sweep.orchestrator.selectors.best import best_of_each, first_best
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.meter import Meter, share
from fsl_sweep.orchestrator.statistics.ties import comparable

Allocation = Callable[[Sequence[Meter], np.ndarray, int], int]


class BudgetedOracle(HyperparameterSelector):
    """At most ``budget`` evaluations of the selected snapshots on novel tasks, for each seed.

    An evaluation is one snapshot on all novel selection tasks, and may be divided among several
    snapshots. See ``meter``.

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.5 (restricted oracle evaluation),
    which leaves the allocation to the designer of a method.

    Args:
        budget: novel evaluations, at least 1.
        allocation: ``top``: the candidates with the best ValGen, one evaluation each.
            ``per-configuration``: every candidate on an equal share of the tasks. ``halving``:
            in rounds of equal cost, keeping the better half of the candidates each time, so that
            the last ones are measured on more tasks (sequential halving; Karnin, Koren, Somekh,
            "Almost Optimal Exploration in Multi-Armed Bandits", algorithm 1).
        over: ``configurations``: the candidates are the selected snapshots; ``snapshots``: all
            snapshots of all configurations.

    Raises:
        ValueError: the budget is not a whole number from 1, or another argument is unknown.
    """

    name: ClassVar[str] = "budgeted-oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"val", "novel"})

    def __init__(
        self, budget: int = 1, allocation: str = "top", over: str = "configurations"
    ) -> None:
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise ValueError(f"the budget is a number of evaluations from 1, not {budget!r}")
        if allocation not in ALLOCATIONS:
            known = ", ".join(ALLOCATIONS)
            raise ValueError(f"the allocation is one of {known}, not {allocation!r}")
        if over not in ("configurations", "snapshots"):
            raise ValueError(f"it is spent over configurations or snapshots, not {over!r}")
        self.novel_budget, self.allocation = budget, allocation
        self.every_snapshot = over == "snapshots"

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """Choose the best candidate that the budget finds.

        Raises:
            SelectionError: all scores are NaN, or the budget is less than a task each.
        """
        meters = [c.novel for c in candidates if c.novel is not None]
        val = comparable([candidate.scores["val"] for candidate in candidates])
        assert self.novel_budget is not None
        return candidates[ALLOCATIONS[self.allocation](meters, val, self.novel_budget)]

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Choose with ``top``; other allocations measure snapshots on a part of their tasks."""
        if self.allocation != "top":
            return None
        val, novel = comparable(scores["val"]), comparable(scores["novel"])
        ranks = np.argsort(np.argsort(-val, axis=1, kind="stable"), axis=1, kind="stable")
        afforded = (ranks < (self.novel_budget or 0)) & ~np.isnan(val)
        return best_of_each(np.where(afforded, novel, np.nan))


def allocations_of(selectors: Iterable[object]) -> tuple[str, ...]:
    """Return the allocations over configurations of the budgeted oracles among selectors."""
    oracles = (s for s in selectors if isinstance(s, BudgetedOracle) and not s.every_snapshot)
    return tuple(dict.fromkeys(oracle.allocation for oracle in oracles))


def _top(meters: Sequence[Meter], val: np.ndarray, budget: int) -> int:
    ranked = [i for i in np.argsort(-val, kind="stable") if not np.isnan(val[i])]
    seen = np.full(len(meters), np.nan)
    for i in ranked[:budget]:
        seen[i] = meters[i].accuracy()
    return first_best(comparable(seen))


def _per_configuration(meters: Sequence[Meter], val: np.ndarray, budget: int) -> int:
    del val
    each = share(Fraction(budget), meters)
    return first_best(comparable([meter.accuracy(each) for meter in meters]))


def _halving(meters: Sequence[Meter], val: np.ndarray, budget: int) -> int:
    del val
    rounds = max(1, (len(meters) - 1).bit_length())
    left, each = list(range(len(meters))), 0
    for _ in range(rounds):
        alive = [meters[i] for i in left]
        each = min(alive[0].tasks, each + share(Fraction(budget, rounds), alive))
        seen = comparable([meter.accuracy(each) for meter in alive])
        if np.isnan(seen).all():
            raise SelectionError("There is no score to choose by: all are NaN.")
        order = [i for i in np.argsort(-seen, kind="stable") if not np.isnan(seen[i])]
        left = sorted(left[i] for i in order[: (len(left) + 1) // 2])
    return left[0]


ALLOCATIONS: Mapping[str, Allocation] = {
    "top": _top,
    "per-configuration": _per_configuration,
    "halving": _halving,
}
