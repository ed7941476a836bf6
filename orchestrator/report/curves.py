"""Learning curves of a few trials, with what every snapshot selector picked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import MEASURES, TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.select import why_unusable


@dataclass(frozen=True)
class Curve:
    """One trial's progression on the selection tasks.

    Attributes:
        method, trial, seed, hyperparameters: which trial.
        epochs: int64 ``[E]``.
        scores: accuracies in [0, 1] by measure, float64 ``[E]``.
        picks: epoch by snapshot selector; a selector that had nothing to choose by is absent.
    """

    method: str
    trial: str
    seed: int
    hyperparameters: Mapping[str, Any]
    epochs: np.ndarray
    scores: Mapping[str, np.ndarray]
    picks: Mapping[str, int]


def curves_of(
    chosen: Chosen, selectors: Sequence[str], limit: int
) -> tuple[tuple[Curve, ...], int]:
    """At most ``limit`` curves, shared fairly among the methods, and how many there are.

    Each method shows its first seed's configurations before its other seeds. Unfinished trials
    are not shown: nothing was selected from them.
    """
    whole = [t for t in chosen.planned if t.fold is None and why_unusable(t) is None]
    methods = list(dict.fromkeys(trial.method for trial in whole))
    queues = [sorted((t for t in whole if t.method == m), key=lambda t: t.seed) for m in methods]
    in_turn = [t for turn in zip_longest(*queues) for t in turn if t is not None]
    kept = {id(trial) for trial in in_turn[:limit]}
    ordered = [trial for queue in queues for trial in queue if id(trial) in kept]
    return tuple(_curve(trial, chosen, selectors) for trial in ordered), len(whole)


def _curve(trial: TrialHistory, chosen: Chosen, selectors: Sequence[str]) -> Curve:
    picks: dict[str, int] = {}
    for name in selectors:
        try:
            picks[name] = chosen.epoch(trial, name)
        except SelectionError:
            continue
    return Curve(
        method=trial.method,
        trial=trial.trial,
        seed=trial.seed,
        hyperparameters=trial.hyperparameters,
        epochs=trial.epochs,
        scores={m: trial.scores[m, "selection"].means for m in MEASURES},
        picks=picks,
    )
