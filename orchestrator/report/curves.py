"""Learning curves of a few trials, with what every snapshot selector picked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import Measure, TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.select import why_unusable


@dataclass(frozen=True)
class Curve:
    """One trial's progression on the selection tasks.

    Attributes:
        trial: which one.
        picks: epoch by snapshot selector; a selector that had nothing to choose by is absent.
    """

    trial: TrialHistory
    picks: Mapping[str, int]

    def scores(self, measure: Measure) -> np.ndarray:
        """Accuracies in [0, 1] by epoch, float64 ``[E]``."""
        return self.trial.scores[measure, "selection"].means


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
    return Curve(trial, picks)
