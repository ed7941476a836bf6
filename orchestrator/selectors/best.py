"""The rule that score-based selectors share: the best score, and the first among equals."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History
from fsl_sweep.orchestrator.selectors.base import HyperparameterSelector, SnapshotSelector
from fsl_sweep.orchestrator.statistics.ties import comparable


class BestSnapshot(SnapshotSelector):
    """The snapshot with the highest score: what its subclasses say is how the score is made."""

    @abstractmethod
    def score(self, scores: Mapping[str, Any]) -> Any:
        """The score, from measures that are numbers or arrays of any one shape; higher is better.

        It must be elementwise, because resampling asks for all resamples at once, and in the units
        of accuracies: scores are told apart as ``statistics.ties.comparable`` does.
        """

    def select(self, history: History) -> int:
        """The epoch of the highest score. Raises SelectionError if all scores are NaN."""
        return int(history.epochs[first_best(comparable(self.score(history.scores)))])


class BestConfiguration(HyperparameterSelector):
    """The candidate with the highest score: what its subclasses say is how the score is made."""

    @abstractmethod
    def score(self, scores: Mapping[str, Any]) -> Any:
        """As ``BestSnapshot.score``."""

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the highest score. Raises SelectionError if all scores are NaN."""
        return candidates[first_best(comparable([self.score(c.scores) for c in candidates]))]


def first_best(scores: np.ndarray) -> int:
    """Position of the highest of ``scores [n]``; the first among equals, never a NaN.

    Accuracies should have gone through ``statistics.ties.comparable``.

    Raises:
        SelectionError: there are no scores, or all are NaN.
    """
    numbers = np.flatnonzero(~np.isnan(scores))
    if len(numbers) == 0:
        raise SelectionError("There is no score to choose by: all are NaN, or there are none.")
    return int(numbers[np.argmax(scores[numbers])])
