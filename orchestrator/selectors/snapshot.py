"""The snapshot selectors of this package.

Sources: "Two Sides of Meta-Learning Evaluation" (TS), "Lessons from Chasing Few-Shot Learning
Benchmarks".
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.selectors.base import NONE, SnapshotSelector
from fsl_sweep.orchestrator.selectors.best import BestSnapshot, first_best
from fsl_sweep.orchestrator.selectors.history import History
from fsl_sweep.orchestrator.selectors.mixture import Mixture


class Last(SnapshotSelector):
    """The last recorded epoch, whatever its scores (Lessons, section 5.1, EoT; TS, F.1)."""

    name: ClassVar[str] = "last"
    needs: ClassVar[frozenset[str]] = frozenset()

    def select(self, history: History) -> int:
        """Choose the last epoch."""
        return int(history.epochs[-1])


class TrainLoss(SnapshotSelector):
    """The lowest mean training loss of an epoch (TS, appendix F.1, strategy 2)."""

    name: ClassVar[str] = "train_loss"
    needs: ClassVar[frozenset[str]] = frozenset({"train_loss"})

    def select(self, history: History) -> int:
        """Choose the epoch of the lowest loss. Raises SelectionError if all losses are NaN."""
        return int(history.epochs[first_best(-history.scores["train_loss"])])

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Return the position of the lowest loss in each row."""
        loss = scores["train_loss"]
        known = ~np.isnan(loss)
        lowest = loss == loss.min(axis=1, keepdims=True, initial=np.inf, where=known)
        return np.where(known.any(axis=1), lowest.argmax(axis=1), NONE)


class BaseSnapshot(BestSnapshot):
    """The highest accuracy on fresh examples of the base classes (TS, section 5.1.2)."""

    name: ClassVar[str] = "base"
    needs: ClassVar[frozenset[str]] = frozenset({"base"})


class ValSnapshot(BestSnapshot):
    """The highest accuracy on the validation classes: the usual practice (TS, section 5.1.1)."""

    name: ClassVar[str] = "val"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})


class OracleSnapshot(BestSnapshot):
    """The highest accuracy on novel tasks: a reference, never a result (TS, F.3, table 6)."""

    name: ClassVar[str] = "oracle"
    needs: ClassVar[frozenset[str]] = frozenset({"novel"})


class MixtureSnapshot(Mixture, BestSnapshot):
    """The highest mixture of BaseGen and ValGen; see ``Mixture``."""


class CrossValidatedEpoch(BestSnapshot):
    """The highest accuracy on held-out class folds, averaged over the folds epoch by epoch.

    Only epochs that the trial and every fold recorded can be chosen. The snapshot is the full
    trial's: the folds only say how long to train. TS, appendix F.5, leaves open how
    cross-validation should choose snapshots.
    """

    name: ClassVar[str] = "cv-epoch"
    needs: ClassVar[frozenset[str]] = frozenset({"cv"})
