"""Learning curves of a few configurations, with what every snapshot selector picked."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen

Curve = tuple[TrialHistory, Mapping[str, int]]
"""A trial, whose scores on the selection tasks are shown, and the epoch of each snapshot selector.

A selector that had nothing to choose by is absent.
"""


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
    return tuple((trial, _picks(trial, chosen, selectors)) for trial in shown), total


def _best(trials: Sequence[TrialHistory]) -> float:
    """Return the highest ValGen of any snapshot, mean over seeds, in [0, 1]."""
    tables = [trial.scores["val", "selection"].means for trial in trials]
    return float(np.mean([np.nanmax([0.0, *means]) for means in tables]))


def _picks(trial: TrialHistory, chosen: Chosen, selectors: Sequence[str]) -> dict[str, int]:
    picks: dict[str, int] = {}
    for name in selectors:
        try:
            picks[name] = chosen.epoch(trial, name)
        except SelectionError:
            continue
    return picks
