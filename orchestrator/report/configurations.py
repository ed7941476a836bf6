"""What each configuration did: learning curves, and the trade-off of BaseGen and NovelGen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter import front
from fsl_sweep.orchestrator.statistics.ties import comparable

Curve = tuple[TrialHistory, Mapping[str, int]]
"""A trial, whose scores on the selection tasks are shown, and the epoch of each snapshot selector.

A selector that had nothing to choose by is absent.
"""


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


def curves_of(
    chosen: Chosen, selectors: Sequence[str], limit: int
) -> tuple[tuple[Curve, ...], int]:
    """Return the curves of at most ``limit`` configurations, all seeds; and how many there are.

    Methods share them fairly, and show first the configurations that reach the highest ValGen.
    """
    groups = _by_configuration(chosen)
    queues = [
        sorted((key for key in groups if key[0] == method), key=lambda key: -_best(groups[key]))
        for method in dict.fromkeys(method for method, _ in groups)
    ]
    kept = {*[key for turn in zip_longest(*queues) for key in turn if key is not None][:limit]}
    shown = [trial for key, trials in groups.items() if key in kept for trial in trials]
    picks = [{name: _epoch(trial, chosen, name) for name in selectors} for trial in shown]
    known = [{name: epoch for name, epoch in of.items() if epoch is not None} for of in picks]
    return tuple(zip(shown, known, strict=True)), sum(map(len, groups.values()))


def tradeoffs_of(chosen: Chosen, selectors: Sequence[str]) -> tuple[TradeOff, ...]:
    """Return the points of each snapshot selector; equal ones once.

    All trials are of whole seeds. A configuration in which the selector has nothing to choose by
    has no point. Where the NovelGen of any chosen snapshot is not measured, the selector has
    none at all: the front would be one of those that happen to be measured.

    Source: "Two Sides of Meta-Learning Evaluation", section 4 and figure 1.
    """
    whole = list(_by_configuration(chosen).values())
    names_of: dict[tuple[object, ...], list[str]] = {}
    for name in selectors:
        scores = [_scores(trials, chosen, name) for trials in whole]
        if not np.isfinite([novel for rows in scores for _, novel in rows]).all():
            continue
        names_of.setdefault((is_oracle(chosen.selector(name)), *scores), []).append(name)
    return tuple(
        TradeOff(tuple(names), bool(oracle), _points(whole, scores))
        for (oracle, *scores), names in names_of.items()
    )


def _by_configuration(chosen: Chosen) -> dict[tuple[str, str], list[TrialHistory]]:
    """Return the full trials of each method's configurations, in plan order."""
    groups: dict[tuple[str, str], list[TrialHistory]] = {}
    for trial in chosen.planned:
        if trial.fold is None:
            groups.setdefault((trial.method, trial.configuration), []).append(trial)
    return groups


def _epoch(trial: TrialHistory, chosen: Chosen, name: str) -> int | None:
    """Return the epoch that a snapshot selector picks; None if it has nothing to choose by."""
    try:
        return chosen.epoch(trial, name)
    except SelectionError:
        return None


def _best(trials: Sequence[TrialHistory]) -> float:
    """Return the highest ValGen of any snapshot, mean over seeds, in [0, 1]."""
    tables = [trial.scores["val", "selection"].means for trial in trials]
    return float(np.mean([np.nanmax([0.0, *means]) for means in tables]))


def _scores(
    trials: Sequence[TrialHistory], chosen: Chosen, name: str
) -> tuple[tuple[float, float], ...]:
    """BaseGen and NovelGen of each seed's choice; none if it has nothing to choose by."""
    rows: list[tuple[float, float]] = []
    for trial in trials:
        if (epoch := _epoch(trial, chosen, name)) is None:
            return ()
        at = trial.index(epoch)
        base, novel = (trial.scores[m, "report"].means[at] for m in ("base", "novel"))
        rows.append((float(base), float(novel)))
    return tuple(rows)


def _points(
    whole: Sequence[Sequence[TrialHistory]], scores: Sequence[Any]
) -> tuple[TradeOffPoint, ...]:
    there = [(trials[0], rows) for trials, rows in zip(whole, scores, strict=True) if rows]
    if not there:
        return ()
    means = [tuple(np.mean(rows, axis=0).tolist()) for _, rows in there]
    return tuple(
        TradeOffPoint(t.method, t.hyperparameters, base, novel, rows, bool(on))
        for (t, rows), (base, novel), on in zip(there, means, front(comparable(means)), strict=True)
    )
