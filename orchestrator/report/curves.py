"""Learning curves of a few configurations, with what every snapshot selector picked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import Measure, TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen


@dataclass(frozen=True)
class Curve:
    """A trial's progression on the selection tasks.

    Attributes:
        trial: which one.
        picks: epoch by snapshot selector; a selector that had nothing to choose by is absent.
    """

    trial: TrialHistory
    picks: Mapping[str, int]

    def scores(self, measure: Measure) -> np.ndarray:
        """Return accuracies in [0, 1] by epoch, float64 ``[E]``."""
        return self.trial.scores[measure, "selection"].means


def curves_of(
    chosen: Chosen, selectors: Sequence[str], limit: int
) -> tuple[tuple[Curve, ...], int]:
    """Return the curves of at most ``limit`` configurations, all seeds; and how many there are.

    Methods share them fairly, and show first the configurations that reach the highest ValGen.
    """
    groups: dict[tuple[str, str], list[TrialHistory]] = {}
    for trial in chosen.planned:
        if trial.fold is None:
            groups.setdefault((trial.method, trial.configuration), []).append(trial)
    queues = [
        sorted((key for key in groups if key[0] == method), key=lambda key: -_best(groups[key]))
        for method in dict.fromkeys(method for method, _ in groups)
    ]
    kept = {*[key for turn in zip_longest(*queues) for key in turn if key is not None][:limit]}
    shown = [trial for key, trials in groups.items() if key in kept for trial in trials]
    total = sum(map(len, groups.values()))
    return tuple(_curve(trial, chosen, selectors) for trial in shown), total


def _best(trials: Sequence[TrialHistory]) -> float:
    """Return the highest ValGen of any snapshot, mean over seeds, in [0, 1]."""
    tables = [trial.scores["val", "selection"].means for trial in trials]
    return float(np.mean([np.nanmax([0.0, *means]) for means in tables]))


def _curve(trial: TrialHistory, chosen: Chosen, selectors: Sequence[str]) -> Curve:
    picks: dict[str, int] = {}
    for name in selectors:
        try:
            picks[name] = chosen.epoch(trial, name)
        except SelectionError:
            continue
    return Curve(trial, picks)
