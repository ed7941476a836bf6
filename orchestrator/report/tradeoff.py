"""The trade-off of BaseGen and NovelGen: every configuration's selected snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter import front
from fsl_sweep.orchestrator.statistics.ties import comparable


@dataclass(frozen=True)
class TradeOffPoint:
    """A configuration with the snapshots that a selector chose, one a seed.

    Attributes:
        method, hyperparameters: which one.
        base, novel: accuracy on the report tasks, mean over seeds, in [0, 1]; base is NaN where
            it is not known.
        seeds: the two of each seed, ``[seeds][2]``.
        on_front: whether no other point of any method beats it in one without losing in the other.
    """

    method: str
    hyperparameters: Mapping[str, Any]
    base: float
    novel: float
    seeds: tuple[tuple[float, float], ...]
    on_front: bool


@dataclass(frozen=True)
class TradeOff:
    """All points of the snapshot selectors that choose alike.

    Attributes:
        snapshots: their names.
        oracle: whether they read novel scores.
        points: in plan order.
    """

    snapshots: tuple[str, ...]
    oracle: bool
    points: tuple[TradeOffPoint, ...]


def tradeoffs_of(chosen: Chosen, selectors: Sequence[str]) -> tuple[TradeOff, ...]:
    """Return the points of each snapshot selector; equal ones once.

    All trials are of whole seeds. A configuration in which the selector has nothing to choose by
    has no point. Where the NovelGen of any chosen snapshot is not measured, the selector has
    none at all: the front would be one of those that happen to be measured.

    Source: "Two Sides of Meta-Learning Evaluation", section 4 and figure 1.
    """
    groups: dict[tuple[str, str], list[TrialHistory]] = {}
    for trial in chosen.planned:
        if trial.fold is None:
            groups.setdefault((trial.method, trial.configuration), []).append(trial)
    whole = list(groups.values())
    found: dict[tuple[object, ...], list[str]] = {}
    for name in selectors:
        scores = [_scores(own, chosen, name) for own in whole]
        if not np.isfinite([novel for own in scores for _, novel in own]).all():
            continue
        found.setdefault((is_oracle(chosen.selector(name)), *scores), []).append(name)
    return tuple(
        TradeOff(tuple(names), bool(oracle), _points(whole, scores))
        for (oracle, *scores), names in found.items()
    )


def _scores(
    trials: Sequence[TrialHistory], chosen: Chosen, name: str
) -> tuple[tuple[float, float], ...]:
    """BaseGen and NovelGen of each seed's choice; none if it has nothing to choose by."""
    rows: list[tuple[float, float]] = []
    for trial in trials:
        try:
            at = trial.index(chosen.epoch(trial, name))
        except SelectionError:
            return ()
        base, novel = (trial.scores[m, "report"].means[at] for m in ("base", "novel"))
        rows.append((float(base), float(novel)))
    return tuple(rows)


def _points(
    whole: Sequence[Sequence[TrialHistory]], scores: Sequence[Any]
) -> tuple[TradeOffPoint, ...]:
    there = [(own[0], rows) for own, rows in zip(whole, scores, strict=True) if rows]
    if not there:
        return ()
    means = [tuple(np.mean(rows, axis=0).tolist()) for _, rows in there]
    return tuple(
        TradeOffPoint(t.method, t.hyperparameters, base, novel, rows, bool(on))
        for (t, rows), (base, novel), on in zip(there, means, front(comparable(means)), strict=True)
    )
