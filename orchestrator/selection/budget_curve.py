"""What novel evaluations buy: regret of the budgeted oracle against its budget."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from typing import NamedTuple

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen, replicates_of
from fsl_sweep.orchestrator.selection.results import Selected, Selection, over_seeds
from fsl_sweep.orchestrator.selectors import Candidate, snapshot_selector
from fsl_sweep.orchestrator.selectors.apply import apply_counted
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.budgeted_oracle import (
    ALLOCATIONS,
    BudgetedOracle,
)
from fsl_sweep.orchestrator.statistics import Interval


@dataclass(frozen=True)
class BudgetPoint:
    """A method with a snapshot selector, an allocation and a budget.

    Attributes:
        method, snapshot, allocation: which curve.
        budget: novel evaluations allowed for each seed.
        evaluations: novel evaluations spent by all seeds.
        regret: mean over seeds of the regret, as in ``Selection``, with its interval over seeds.
    """

    method: str
    snapshot: str
    allocation: str
    budget: int
    evaluations: int
    regret: Interval


class _Left(NamedTuple):
    """A replicate: its trials, the snapshot selector's choices, and what the oracle attains."""

    trials: Sequence[TrialHistory]
    candidates: Sequence[Candidate]
    reference: float


def regret_by_budget(
    histories: Sequence[TrialHistory],
    selected: Selected,
    snapshot: Sequence[str],
    allocations: Sequence[str] = tuple(ALLOCATIONS),
    points: int = 16,
) -> tuple[BudgetPoint, ...]:
    """The regret at budgets from 1 to one evaluation for each configuration.

    Only of methods without an incomplete replicate. A budget that is too small for an allocation to
    give each configuration a task has no point, and neither has one whose choice is not measured
    on the report tasks.

    Args:
        histories: as given to ``select``.
        selected: what was selected from them.
        snapshot: names of snapshot selectors; oracles have no curve.
        allocations: names of allocations.
        points: the largest number of budgets: dense up to half of it, evenly spread beyond.
    """
    first = [name for name in snapshot if not is_oracle(snapshot_selector(name))]
    folds = [trial for trial in histories if trial.fold is not None]
    found: list[BudgetPoint] = []
    for method in selected.methods:
        own = [one for one in selected.selections if one.method == method]
        references = {one.seed: one.regret + one.means["novel"] for one in own}
        trials = {seed: own for (of, seed), own in replicates_of(histories).items() if of == method}
        if set(references) != set(trials):
            continue
        choices = [one for one in own if one.strategy == own[0].strategy]
        once = {seed: [read_once(trial) for trial in own] for seed, own in trials.items()}
        chosen = Chosen([*(trial for own in once.values() for trial in own), *folds])
        for name in first:
            try:
                left = [
                    _Left(own, chosen.candidates(own, name), references[seed])
                    for seed, own in once.items()
                ]
            except SelectionError:
                continue
            for allocation in allocations:
                found += _curve(choices, name, allocation, left, points)
    return tuple(found)


def _curve(
    choices: Sequence[Selection], name: str, allocation: str, left: Sequence[_Left], points: int
) -> list[BudgetPoint]:
    curve: list[BudgetPoint] = []
    for budget in _budgets(max(len(one.trials) for one in left), points):
        try:
            outcomes = [_outcome(BudgetedOracle(budget, allocation), one) for one in left]
        except SelectionError:
            continue
        spent = sum(seen for _, seen in outcomes)
        regret = over_seeds([regret for regret, _ in outcomes], choices)
        curve.append(BudgetPoint(choices[0].method, name, allocation, budget, spent, regret))
    return curve


def _outcome(selector: BudgetedOracle, left: _Left) -> tuple[float, int]:
    """Regret on the report tasks, and novel evaluations spent."""
    chosen, seen = apply_counted(selector, left.candidates)
    trial = next(one for one in left.trials if one.trial == chosen.trial)
    attained = float(trial.scores["novel", "report"].means[trial.index(chosen.epoch)])
    if not isfinite(left.reference - attained):
        raise SelectionError("The choice is not measured on the report tasks.")
    return left.reference - attained, seen


def _budgets(most: int, points: int) -> list[int]:
    dense = list(range(1, min(most, points // 2) + 1))
    spread = np.linspace(len(dense), most, max(0, points - len(dense)) + 1)[1:]
    return sorted({*dense, *np.rint(spread).astype(int).tolist()})


def read_once(trial: TrialHistory) -> TrialHistory:
    """The same trial, whose novel selection tasks are read once for all budgets."""
    table = trial.scores["novel", "selection"]
    once = replace(table, load=cache(table.load))
    return replace(trial, scores={**trial.scores, ("novel", "selection"): once})
