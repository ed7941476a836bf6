"""The grid behind records that came without a plan: what is missing from it is named."""

import hashlib
import json
from collections.abc import Iterable, Sequence

import numpy as np

from fsl_sweep.orchestrator.records import TrialHistory


def trial_id(method: str, configuration: str, seed: int, fold: int | None) -> str:
    """The id of a trial that has no specification, 16 hexadecimal digits."""
    text = json.dumps([method, configuration, seed, fold])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def filled(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """Trials in plan order, with an empty one for each hole of a method's grid.

    A method's grid is each of its configurations with each of its seeds: a seed that lacks a
    configuration would choose among fewer candidates than the others, and must not be averaged
    with them. Class folds need no filling: those missing are named where they are averaged.
    """
    methods = _distinct(trial.method for trial in trials)
    return [one for name in methods for one in _grid([t for t in trials if t.method == name])]


def _grid(trials: Sequence[TrialHistory]) -> list[TrialHistory]:
    """One method's trials: configurations as they came, seeds ascending, folds last."""
    found: dict[tuple[str, int], list[TrialHistory]] = {}
    for one in trials:
        found.setdefault((one.configuration, one.seed), []).append(one)
    axes = {one.configuration: one for one in trials}
    grid: list[TrialHistory] = []
    for configuration, example in axes.items():
        for seed in sorted({one.seed for one in trials}):
            here = found.get((configuration, seed), [])
            if all(one.fold is not None for one in here):
                grid.append(_hole(example, seed))
            grid += sorted(here, key=lambda one: -1 if one.fold is None else one.fold)
    return grid


def _hole(example: TrialHistory, seed: int) -> TrialHistory:
    return TrialHistory(
        trial=trial_id(example.method, example.configuration, seed, None),
        method=example.method,
        configuration=example.configuration,
        hyperparameters=example.hyperparameters,
        seed=seed,
        fold=None,
        epochs=np.zeros(0, np.int64),
        curves={},
        scores={},
    )


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
