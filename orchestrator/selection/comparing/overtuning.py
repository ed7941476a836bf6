"""What choosing among configurations gained or lost against not choosing at all.

Overtuning: the configuration that looked best on the selection tasks is worse on the report tasks
than the first one of the grid, which is taken for the default. With few selection tasks and many
configurations, chance chooses.

Source: Schneider, Bischl and Feurer, "Overtuning in Hyperparameter Optimization" (AutoML 2025),
whose severe overtuning is a choice that is worse than the default or first configuration.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.records.measures import Measure, TrialHistory
from fsl_sweep.orchestrator.selection.candidates import candidates_of
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.results import Selected, Selection, Strategy, over_seeds
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics import Interval


@dataclass(frozen=True)
class Overtuning:
    """The choice of a strategy for one method, against the first configuration of its grid.

    Attributes:
        method, strategy: which cell.
        seeds: its replicates.
        below: how far the choice is below what the same snapshot selector takes of the first
            configuration that is a candidate in every seed, on the report tasks, by what methods
            are compared by: mean over seeds with its interval over them, for these selection and
            report tasks. Positive is overtuning.
        values: of each seed.
    """

    method: str
    strategy: Strategy
    seeds: tuple[int, ...]
    below: Interval
    values: tuple[float, ...]

    @property
    def caution(self) -> str | None:
        """Return why not to trust it, or None."""
        return self.below.caution


def overtuning_of(
    histories: Sequence[TrialHistory] | Chosen, selected: Selected
) -> tuple[Overtuning, ...]:
    """Return every complete cell of a method with several configurations.

    Args:
        histories: as given to ``select``.
        selected: what was selected from them.
    """
    chosen = histories if isinstance(histories, Chosen) else Chosen(histories)
    cells: list[Overtuning] = []
    for method in selected.methods:
        for strategy in selected.strategies:
            cell, selector = selected.cell(method, strategy), chosen.selector(strategy.snapshot)
            among = chosen.folds if strategy.cross_validated else None
            seeds = tuple(choice.seed for choice in cell)
            trials = [chosen.replicates[method, seed] for seed in seeds]
            rivals = [
                {trial.configuration: trial for trial in candidates_of(of_seed, selector, among)}
                for of_seed in trials
            ]
            common = [name for each in rivals for name in each if all(name in r for r in rivals)]
            if not common or min(map(len, rivals)) < 2:
                continue
            first = [of_seed[common[0]] for of_seed in rivals]
            values = [_below(c, default, chosen) for c, default in zip(cell, first, strict=True)]
            if np.isfinite(values).all():
                below = over_seeds(values, cell)
                cells.append(Overtuning(method, strategy, seeds, below, tuple(values)))
    return tuple(cells)


def _below(choice: Selection, first: TrialHistory, chosen: Chosen) -> float:
    """Return how far a choice is below what its selector takes of the first configuration."""
    if choice.trial == first.trial:
        return 0.0
    at = first.index(chosen.epoch(first, choice.strategy.snapshot))

    def report(measure: Measure) -> float:
        return float(first.scores[measure, "report"].means[at])

    weight, novel = choice.base_weight, report("novel")
    default = novel if weight is None else mixed(weight, report("base"), novel)
    # Rounded, so that equal accuracies have no difference.
    return round(default - choice.reported_mean, 12)
