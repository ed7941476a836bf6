"""Two selectors that do not trust a single peak of ValGen."""

from collections.abc import Sequence
from typing import ClassVar, final

import numpy as np

from fsl_sweep.orchestrator.catalogue import Info
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    History,
    HyperparameterSelector,
    SnapshotSelector,
)
from fsl_sweep.orchestrator.selectors.best import first_best


@final
class SmoothedVal(SnapshotSelector):
    """The snapshot in the middle of the best stretch of ValGen.

    Args:
        width: recorded epochs that are averaged around each, an odd number; fewer at the ends.

    Raises:
        ValueError: the width is not an odd number, 1 or above.
    """

    name: ClassVar[str] = "smoothed-val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def __init__(self, width: int = 3) -> None:
        if not isinstance(width, int) or width < 1 or width % 2 == 0:
            raise ValueError(f"the width must be an odd number, 1 or above, not {width}")
        self.width = width

    def select(self, history: History) -> int:
        """The epoch with the best average; an epoch that is NaN itself is never chosen."""
        val = history.scores["val"]
        return int(history.epochs[first_best(self._smoothed(val))])

    def _smoothed(self, val: np.ndarray) -> np.ndarray:
        """Averages ``[E]`` of the numbers around each score."""
        around, number = np.ones(self.width), ~np.isnan(val)
        half = self.width // 2
        total = np.convolve(np.where(number, val, 0.0), around)[half : half + len(val)]
        count = np.convolve(number, around)[half : half + len(val)]
        return np.where(number, total / np.maximum(count, 1), np.nan)


@final
class NearBestVal(HyperparameterSelector):
    """The best BaseGen among the configurations whose ValGen is within a margin of the best.

    Args:
        margin: in accuracy, 0.01 being one percentage point.

    Raises:
        ValueError: the margin is negative.
    """

    name: ClassVar[str] = "near-best-val"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "val"})

    def __init__(self, margin: float = 0.01) -> None:
        if not margin >= 0:
            raise ValueError(f"the margin must be 0 or above, not {margin}")
        self.margin = margin

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """A candidate of the given ones; SelectionError where all ValGen scores are NaN."""
        val = np.array([candidate.scores["val"] for candidate in candidates])
        base = np.array([candidate.scores["base"] for candidate in candidates])
        near = val >= val[first_best(val)] - self.margin
        return candidates[first_best(np.where(near, base, np.nan))]


SMOOTHED = Info("smoothed-val", SmoothedVal, "", "smoothed-val(3): the best ValGen over 3 epochs")
NEAR_BEST = Info("near-best-val", NearBestVal, "", "the best BaseGen among nearly best ValGen")
