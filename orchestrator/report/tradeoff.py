"""The trade-off of BaseGen and NovelGen: every configuration's selected snapshot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.cross_validation import FoldTrials
from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import History
from fsl_sweep.orchestrator.records import TrialHistory
from fsl_sweep.orchestrator.selection import why_unusable
from fsl_sweep.orchestrator.selectors import SnapshotSelector, apply, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter.pareto import front


@dataclass(frozen=True)
class TradeOffPoint:
    """A configuration with the snapshots that a selector chose, one a seed.

    Attributes:
        method, configuration, hyperparameters: which one.
        base, novel: accuracy on the report tasks, mean over seeds, in [0, 1].
        on_front: whether no other point of any method beats it in one without losing in the other.
    """

    method: str
    configuration: str
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


def tradeoffs_of(
    histories: Sequence[TrialHistory], selectors: Sequence[str]
) -> tuple[TradeOff, ...]:
    """The points of each snapshot selector; equal ones once.

    A configuration of which any seed is not usable, or in which the selector has nothing to
    choose by, has no point.

    Source: "Two Sides of Meta-Learning Evaluation", section 4 and figure 1.
    """
    groups: dict[tuple[str, str], list[TrialHistory]] = {}
    for trial in histories:
        if trial.fold is None:
            groups.setdefault((trial.method, trial.configuration), []).append(trial)
    whole = [own for own in groups.values() if all(why_unusable(t) is None for t in own)]
    folds = FoldTrials(histories)
    seen = {id(t): History.from_trial(t, folds.of(t)) for own in whole for t in own}
    found: dict[tuple[object, ...], list[str]] = {}
    for name in selectors:
        selector = snapshot_selector(name)
        means = [_means(own, seen, selector) for own in whole]
        found.setdefault((is_oracle(selector), *means), []).append(name)
    return tuple(
        TradeOff(tuple(names), bool(oracle), _points(whole, means))
        for (oracle, *means), names in found.items()
    )


def _means(
    trials: Sequence[TrialHistory], seen: Mapping[int, History], selector: SnapshotSelector
) -> tuple[float, float] | None:
    rows: list[tuple[float, float]] = []
    for trial in trials:
        try:
            at = trial.index(apply(selector, seen[id(trial)]))
        except SelectionError:
            return None
        base, novel = (trial.scores[m, "report"].means[at] for m in ("base", "novel"))
        rows.append((float(base), float(novel)))
    base, novel = np.mean(rows, axis=0)
    return (float(base), float(novel)) if np.isfinite(rows).all() else None


def _points(
    whole: Sequence[Sequence[TrialHistory]], means: Sequence[Any]
) -> tuple[TradeOffPoint, ...]:
    there = [(own[0], mean) for own, mean in zip(whole, means, strict=True) if mean is not None]
    if not there:
        return ()
    kept = front(np.array([mean for _, mean in there]))
    return tuple(
        TradeOffPoint(t.method, t.configuration, t.hyperparameters, base, novel, bool(on))
        for (t, (base, novel)), on in zip(there, kept, strict=True)
    )
