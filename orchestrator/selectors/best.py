"""The rule of score-based selectors: the best score, and the first among equals."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.base import NONE, HyperparameterSelector, SnapshotSelector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.statistics.ties import comparable


class _Scored:
    needs: ClassVar[frozenset[str]]

    @property
    def highest_of(self) -> str | None:
        """Name the one measure that is needed, unless a subclass has another rule."""
        cls, rules = type(self), (BestSnapshot.select, BestConfiguration.select)
        usual = cls.score is _Scored.score and cls.choose_all is _Scored.choose_all
        measure, *others = self.needs
        return measure if usual and getattr(cls, "select", None) in rules and not others else None

    def score(self, scores: Mapping[str, Any]) -> Any:
        """Return the score of measures, numbers or arrays of one shape; higher is better.

        By default the one measure that the selector needs. It must be elementwise, because
        resampling scores all resamples at once, and in the units of accuracies: scores are
        compared by ``statistics.ties.comparable``.
        """
        (measure,) = self.needs
        return scores[measure]

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Return the position of the highest score in each row."""
        return best_of_each(self.score(scores))


class BestSnapshot(_Scored, SnapshotSelector):
    """The snapshot with the highest score; subclasses define the score."""

    def select(self, history: History) -> int:
        """Choose the epoch of the highest score. Raises SelectionError if all scores are NaN."""
        return int(history.epochs[first_best(comparable(self.score(history.scores)))])


class BestConfiguration(_Scored, HyperparameterSelector):
    """The candidate with the highest score; subclasses define the score."""

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """Choose the candidate of the highest score. Raises SelectionError if all are NaN."""
        return candidates[first_best(comparable([self.score(c.scores) for c in candidates]))]


def first_best(scores: np.ndarray) -> int:
    """Return the position of the highest of ``scores [n]``; the first among equals, never a NaN.

    Accuracies should have gone through ``statistics.ties.comparable``.

    Raises:
        SelectionError: there are no scores, or all are NaN.
    """
    numbers = np.flatnonzero(~np.isnan(scores))
    if len(numbers) == 0:
        raise SelectionError("There is no score to choose by: all are NaN, or there are none.")
    return int(numbers[np.argmax(scores[numbers])])


def best_of_each(scores: np.ndarray) -> np.ndarray:
    """Return the ``first_best`` of each row of ``scores [R, n]``; NONE if all are NaN."""
    ranked = np.where(np.isnan(scores), -np.inf, comparable(scores))
    return np.where(np.isnan(scores).all(axis=-1), NONE, ranked.argmax(axis=-1))
