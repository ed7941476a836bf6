"""The hyperparameter selectors of this package, except for the budgeted oracle.

Source: "Two Sides of Meta-Learning Evaluation", appendices F.1, F.4 and F.5.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.base import FrontSelector
from fsl_sweep.orchestrator.selectors.best import BestConfiguration, first_best
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.mixture import Mixture
from fsl_sweep.orchestrator.statistics.ties import comparable


class BaseConfiguration(BestConfiguration):
    """The highest accuracy on fresh examples of the base classes (appendix F.1)."""

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})


class ValConfiguration(BestConfiguration):
    """The highest accuracy on the validation classes: the usual practice (appendix F.1)."""

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})


class OracleConfiguration(BestConfiguration):
    """The highest accuracy on novel tasks: a reference, never a result (appendix F.5)."""

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})


class MixtureConfiguration(Mixture, BestConfiguration):
    """The highest mixture of BaseGen and ValGen; see ``Mixture``."""


class CrossValidated(BestConfiguration):
    """The highest accuracy on held-out class folds, averaged over the folds (appendix F.5).

    Args:
        snapshots: which snapshot of each fold's trial counts. ``own``: the one that the snapshot
            selector in force chooses there. ``aligned``: the one at the candidate's epoch, so
            that the average is over learners trained as long as the one that will be kept.

    Raises:
        ValueError: ``snapshots`` is neither.
    """

    name: ClassVar[str] = "cv"
    needs: ClassVar[frozenset[str]] = frozenset({"cv"})

    def __init__(self, snapshots: str = "own") -> None:
        if snapshots not in ("own", "aligned"):
            raise ValueError(f"snapshots of the folds are 'own' or 'aligned', not {snapshots!r}")
        self.asks_folds = snapshots == "own"

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """Choose the candidate of the highest average.

        Raises:
            SelectionError: all averages are NaN, or a fold has no record of a candidate's epoch
                where epochs are aligned.
        """
        scores = [c.scores["cv"] if self.asks_folds else _aligned(c) for c in candidates]
        return candidates[first_best(comparable(scores))]


def _aligned(candidate: Candidate) -> float:
    history = candidate.history
    for number, fold in enumerate(history.folds):
        if candidate.epoch not in fold.epochs:
            raise SelectionError(
                f"Selector 'cv(aligned)' needs epoch {candidate.epoch} of every fold of "
                f"{candidate.trial}, but fold {number} has no record of it."
            )
    return float(history.scores["cv"][history.index(candidate.epoch)])


class Pareto(FrontSelector):
    """Candidates that no other beats in one of BaseGen and NovelGen without losing in the other.

    Equal candidates do not dominate each other: all of them are on the front. One with a NaN
    score is not. It reads test scores: a picture of the trade-off, never a result (section 4,
    figure 1, and appendix F.4 (i)).
    """

    name: ClassVar[str] = "pareto"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "novel"})

    def select(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """Return the front, in plan order. Raises SelectionError if none has both scores."""
        scores = [[c.scores[m] for m in ("base", "novel")] for c in candidates]
        points = np.array(scores).reshape(-1, 2)  # two columns without any candidate too
        if np.isnan(points).any(axis=1).all():
            raise SelectionError("There is no score to choose by: all are NaN, or there are none.")
        return tuple(c for c, on in zip(candidates, front(comparable(points)), strict=True) if on)


def front(points: np.ndarray) -> np.ndarray:
    """Tell which of ``points [n, d]`` no other dominates (higher is better), bool ``[n]``.

    A point dominates another that it equals or exceeds everywhere and exceeds somewhere. A point
    with a NaN neither dominates nor is on the front. Accuracies should have gone through
    ``statistics.ties.comparable``.
    """
    at_least = (points[:, None] >= points[None, :]).all(axis=2)  # [n, n]: row against column
    above = (points[:, None] > points[None, :]).any(axis=2)
    out = np.isnan(points).any(axis=1) | (at_least & above).any(axis=0)
    return np.logical_not(out)
