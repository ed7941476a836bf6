"""The rule that score-based selectors share: the best score, and the first among equals."""

from collections.abc import Sequence

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History


def first_best(scores: np.ndarray) -> int:
    """Position of the highest of ``scores [n]``; the first among equals, never a NaN.

    Raises:
        SelectionError: there are no scores, or all are NaN.
    """
    if len(scores) == 0 or np.isnan(scores).all():
        raise SelectionError("There is no score to choose by: all are NaN, or there are none.")
    return int(np.nanargmax(scores))


def best_epoch(history: History, measure: str) -> int:
    """The epoch with the highest score. Raises SelectionError as ``first_best``."""
    return int(history.epochs[first_best(history.scores[measure])])


def best_candidate(candidates: Sequence[Candidate], measure: str) -> Candidate:
    """The candidate with the highest score. Raises SelectionError as ``first_best``."""
    return candidates[first_best(np.array([c.scores[measure] for c in candidates]))]
