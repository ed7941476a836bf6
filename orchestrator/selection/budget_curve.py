"""What novel evaluations buy: regret of the budgeted oracle against its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.snapshot import Snapshot
from fsl_sweep.orchestrator.selection.candidates import candidates_of
from fsl_sweep.orchestrator.selection.choices import Chosen, read_once
from fsl_sweep.orchestrator.selection.completeness import replicates_of
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


def regret_by_budget(
    histories: Sequence[TrialHistory],
    selected: Selected,
    snapshot: Sequence[str],
    allocations: Sequence[str] = tuple(ALLOCATIONS),
    points: int = 16,
) -> tuple[BudgetPoint, ...]:
    """Return the regret at budgets from 1 to one evaluation for each configuration.

    Only of methods without an incomplete replicate; a seed in which every configuration diverged is
    left out. A budget that is too small for an allocation to
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
        lost = {
            s for (name, _), seeds in selected.diverged.items() if name == method for s in seeds
        }
        if not selections or set(references) | lost != set(trials):
            continue
        choices = [choice for choice in selections if choice.strategy == selections[0].strategy]
        once = {seed: [*map(read_once, trials[seed])] for seed in trials if seed in references}
        chosen = Chosen([*(trial for group in once.values() for trial in group), *folds])
        for name in first:
            every = {s: candidates_of(group, chosen.selector(name)) for s, group in once.items()}
            rivals = {seed: group for seed, group in every.items() if group}
            try:
                left = [chosen.candidates(group, name) for group in rivals.values()]
            except SelectionError:
                continue
            regrets = [
                {
                    trial.trial: references[seed] - Snapshot(trial, candidate.epoch).mean("novel")
                    for trial, candidate in zip(group, candidates, strict=True)
                }
                for (seed, group), candidates in zip(rivals.items(), left, strict=True)
            ]
            for allocation in allocations if rivals else ():
                curves += _curve(choices, name, allocation, left, regrets, points)
    return tuple(curves)


def _curve(
    choices: Sequence[Selection],
    name: str,
    allocation: str,
    left: Sequence[Sequence[Candidate]],
    regrets: Sequence[Mapping[str, float]],
    points: int,
) -> list[BudgetPoint]:
    """Return the curve of a method, from the candidates of each seed and what each would lose."""
    curve: list[BudgetPoint] = []
    for budget in _budgets(max(map(len, left)), points):
        selector = BudgetedOracle(budget, allocation)
        try:
            taken = [apply_counted(selector, candidates) for candidates in left]
        except SelectionError:
            continue
        lost = [of[choice.trial] for of, (choice, _) in zip(regrets, taken, strict=True)]
        if np.isfinite(lost).all():
            spent, regret = sum(seen for _, seen in taken), over_seeds(lost, choices)
            curve.append(BudgetPoint(choices[0].method, name, allocation, budget, spent, regret))
    return curve


def _budgets(most: int, points: int) -> list[int]:
    dense = list(range(1, min(most, points // 2) + 1))
    spread = np.linspace(len(dense), most, max(0, points - len(dense)) + 1)[1:]
    return sorted({*dense, *np.rint(spread).astype(int).tolist()})
