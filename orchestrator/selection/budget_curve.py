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
    """Return the regret at budgets from 1 to one evaluation for each configuration.

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
    curves: list[BudgetPoint] = []
    replicates = replicates_of(histories)
    for method in selected.methods:
        selections = [choice for choice in selected.selections if choice.method == method]
        references = {choice.seed: choice.regret + choice.means["novel"] for choice in selections}
        trials = {seed: group for (name, seed), group in replicates.items() if name == method}
        if not selections or set(references) != set(trials):
            continue
        first_strategy = selections[0].strategy
        choices = [choice for choice in selections if choice.strategy == first_strategy]
        once = {seed: [read_once(trial) for trial in group] for seed, group in trials.items()}
        chosen = Chosen([*(trial for group in once.values() for trial in group), *folds])
        for name in first:
            try:
                left = [
                    _Left(group, chosen.candidates(group, name), references[seed])
                    for seed, group in once.items()
                ]
            except SelectionError:
                continue
            for allocation in allocations:
                curves += _curve(choices, name, allocation, left, points)
    return tuple(curves)


def _curve(
    choices: Sequence[Selection], name: str, allocation: str, left: Sequence[_Left], points: int
) -> list[BudgetPoint]:
    curve: list[BudgetPoint] = []
    for budget in _budgets(max(len(replicate.trials) for replicate in left), points):
        try:
            outcomes = [
                _outcome(BudgetedOracle(budget, allocation), replicate) for replicate in left
            ]
        except SelectionError:
            continue
        spent = sum(seen for _, seen in outcomes)
        regret = over_seeds([regret for regret, _ in outcomes], choices)
        curve.append(BudgetPoint(choices[0].method, name, allocation, budget, spent, regret))
    return curve


def _outcome(selector: BudgetedOracle, left: _Left) -> tuple[float, int]:
    """Regret on the report tasks, and novel evaluations spent."""
    chosen, seen = apply_counted(selector, left.candidates)
    trial = next(trial for trial in left.trials if trial.trial == chosen.trial)
    attained = float(trial.scores["novel", "report"].means[trial.index(chosen.epoch)])
    if not isfinite(left.reference - attained):
        raise SelectionError("The choice is not measured on the report tasks.")
    return left.reference - attained, seen


def _budgets(most: int, points: int) -> list[int]:
    dense = list(range(1, min(most, points // 2) + 1))
    spread = np.linspace(len(dense), most, max(0, points - len(dense)) + 1)[1:]
    return sorted({*dense, *np.rint(spread).astype(int).tolist()})


def read_once(trial: TrialHistory) -> TrialHistory:
    """Return the same trial, whose novel selection tasks are read once for all budgets."""
    table = trial.scores["novel", "selection"]
    once = replace(table, load=cache(table.load))
    return replace(trial, scores={**trial.scores, ("novel", "selection"): once})
