"""The kinds of selector.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.1.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History

NONE = -1
"""In place of a position: there is nothing to choose by."""


class SnapshotSelector(ABC):
    """Chooses one snapshot of a trial.

    A selector is a pure function of what it declares: the same history, the same epoch. Ties go
    to the earlier epoch, and a NaN score never wins.

    Attributes:
        name: how a sweep file names it.
        needs: the measures that it reads, of {"train_loss", "base", "val", "novel", "cv"}. One
            that needs ``novel`` is an oracle, and shown as such.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @property
    def highest_of(self) -> str | None:
        """Name the measure whose highest value it always chooses, the first among equals, if any.

        Snapshots that are never the highest then need not be resampled.
        """
        return None

    @abstractmethod
    def select(self, history: History) -> int:
        """Choose an epoch of ``history.epochs``.

        Raises:
            SelectionError: there is nothing to choose from.
        """

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Return positions of the chosen epochs in many resamples at once, int ``[R]``.

        They are what ``select`` would choose in each row of ``scores`` (the declared measures in
        each resample of the tasks, float64 ``[R, E]``); NONE where it would raise SelectionError.
        Without an answer (None, the default), ``select`` is run on each of fewer resamples.
        """
        del scores
        return None


class HyperparameterSelector(ABC):
    """Chooses one configuration among the snapshots that a snapshot selector left.

    The rules are those of ``SnapshotSelector``; ties go to the earlier candidate.

    Attributes:
        name: how a sweep file names it.
        needs: the measures that it reads, of {"train_loss", "base", "val", "novel", "cv"}.
        novel_budget: novel evaluations that it may spend; None if they are not counted. With a
            budget, each candidate has a meter (``candidate.novel``) in place of novel scores.
        asks_folds: for one that needs ``cv``, whether candidates come with the epoch that the
            snapshot selector chooses in each class fold, or only with that of the full trial.
        every_snapshot: whether the candidates are all snapshots of all configurations, in order,
            whatever the snapshot selector chooses. The selection is then not repeated in resamples.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    novel_budget: int | None = None
    asks_folds: bool = True
    every_snapshot: bool = False

    @property
    def highest_of(self) -> str | None:
        """Name the measure as ``SnapshotSelector.highest_of`` does."""
        return None

    @abstractmethod
    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """Choose one of ``candidates``, which come in plan order.

        Raises:
            SelectionError: there is nothing to choose from.
        """

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Choose as ``SnapshotSelector.choose_all``, by the selected snapshots' scores ``[R, n]``.

        Resamples are not metered: with a budget, the rows hold all novel scores, and the selector
        must not use more of them than the budget would pay for.
        """
        del scores
        return None


class FrontSelector(ABC):
    """Keeps several configurations instead of choosing one.

    A front is not a strategy, because no single snapshot follows from it. It is named among the
    hyperparameter selectors, and shown apart from the strategies.

    Attributes:
        name, needs: as in ``HyperparameterSelector``.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @abstractmethod
    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Keep some of ``candidates``, in their order.

        Raises:
            SelectionError: there is nothing to choose from.
        """


AnySelector = SnapshotSelector | HyperparameterSelector | FrontSelector


def is_oracle(selector: AnySelector) -> bool:
    """Tell whether the selector reads novel scores."""
    return "novel" in selector.needs


def is_cross_validated(selector: AnySelector) -> bool:
    """Tell whether the selector reads what class folds measured."""
    return "cv" in selector.needs


def reads_each_fold(selector: HyperparameterSelector) -> bool:
    """Tell whether the selector reads the snapshot that is chosen in each class fold."""
    return is_cross_validated(selector) and selector.asks_folds
