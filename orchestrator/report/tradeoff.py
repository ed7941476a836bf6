"""The trade-off of BaseGen and NovelGen: every configuration's selected snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.select import why_unusable
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter import front
from fsl_sweep.orchestrator.statistics.ties import comparable


@dataclass(frozen=True)
class TradeOffPoint:
    """A configuration with the snapshots that a selector chose, one a seed.

    Attributes:
        method, hyperparameters: which one.
        base, novel: accuracy on the report tasks, mean over seeds, in [0, 1].
        on_front: whether no other point of any method beats it in one without losing in the other.
    """

    method: str
    hyperparameters: Mapping[str, Any]
    base: float
    novel: float
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
    """The points of each snapshot selector; equal ones once.

    A configuration of which any seed is not usable, or in which the selector has nothing to
    choose by, has no point. Where any chosen snapshot is not measured on the report tasks, the
    selector has none at all: the front would be one of those that happen to be measured.

    Source: "Two Sides of Meta-Learning Evaluation", section 4 and figure 1.
    """
    groups: dict[tuple[str, str], list[TrialHistory]] = {}
    for trial in chosen.planned:
        if trial.fold is None:
            groups.setdefault((trial.method, trial.configuration), []).append(trial)
    whole = [own for own in groups.values() if all(why_unusable(t) is None for t in own)]
    found: dict[tuple[object, ...], list[str]] = {}
    for name in selectors:
        means = [_means(own, chosen, name) for own in whole]
        if not all(mean is None or np.isfinite(mean).all() for mean in means):
            continue
        found.setdefault((is_oracle(chosen.selector(name)), *means), []).append(name)
    return tuple(
        TradeOff(tuple(names), bool(oracle), _points(whole, means))
        for (oracle, *means), names in found.items()
    )


def _means(trials: Sequence[TrialHistory], chosen: Chosen, name: str) -> tuple[float, float] | None:
    rows: list[tuple[float, float]] = []
    for trial in trials:
        try:
            at = trial.index(chosen.epoch(trial, name))
        except SelectionError:
            return None
        base, novel = (trial.scores[m, "report"].means[at] for m in ("base", "novel"))
        rows.append((float(base), float(novel)))
    base, novel = np.mean(rows, axis=0)
    return float(base), float(novel)


def _points(
    whole: Sequence[Sequence[TrialHistory]], means: Sequence[Any]
) -> tuple[TradeOffPoint, ...]:
    there = [(own[0], mean) for own, mean in zip(whole, means, strict=True) if mean is not None]
    if not there:
        return ()
    kept = front(comparable([mean for _, mean in there]))
    return tuple(
        TradeOffPoint(t.method, t.hyperparameters, base, novel, bool(on))
        for (t, (base, novel)), on in zip(there, kept, strict=True)
    )
