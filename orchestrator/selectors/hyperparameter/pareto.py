"""Every configuration that is not dominated in BaseGen and NovelGen."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.base import FrontSelector
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.statistics.ties import comparable


class Pareto(FrontSelector):
    """Candidates that no other beats in one of BaseGen and NovelGen without losing in the other.

    Equal candidates do not dominate each other: all of them are on the front. One with a NaN
    score is not. It reads test scores: a picture of the trade-off, never a result.

    Source: "Two Sides of Meta-Learning Evaluation", section 4 and figure 1 (the trade-off of
    BaseGen and NovelGen), appendix F.4 (i) (comparison of 2-tuples).
    """

    name: ClassVar[str] = "pareto"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "novel"})

    def select(self, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
        """The front, in plan order. Raises SelectionError if no candidate has both scores."""
        scores = [[one.scores[m] for m in ("base", "novel")] for one in candidates]
        points = np.array(scores).reshape(-1, 2)  # two columns without any candidate too
        if np.isnan(points).any(axis=1).all():
            raise SelectionError("There is no score to choose by: all are NaN, or there are none.")
        return tuple(c for c, on in zip(candidates, front(comparable(points)), strict=True) if on)


def front(points: np.ndarray) -> np.ndarray:
    """Which of ``points [n, d]`` no other dominates (higher is better), bool ``[n]``.

    A point dominates another that it equals or exceeds everywhere and exceeds somewhere. A point
    with a NaN neither dominates nor is on the front. Accuracies should have gone through
    ``statistics.ties.comparable``.
    """
    whole = ~np.isnan(points).any(axis=1)
    at_least = (points[:, None] >= points[None, :]).all(axis=2)  # [n, n]: row against column
    above = (points[:, None] > points[None, :]).any(axis=2)
    dominated = np.any(at_least & above, axis=0)
    return np.logical_and(whole, ~dominated)
