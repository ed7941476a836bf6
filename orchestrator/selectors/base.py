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
"""In place of a position, where there is nothing to choose by."""


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

    @abstractmethod
    def select(self, history: History) -> int:
        """An epoch of ``history.epochs``.

        Raises:
            SelectionError: there is nothing to choose from.
        """

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Positions of the chosen epochs in many resamples at once, int ``[R]``.

        None, the default, means that ``select`` is run on each of fewer resamples.

        Args:
            scores: the declared measures in each resample of the tasks, float64 ``[R, E]``.

        Returns:
            What ``select`` would choose of each row; NONE where it would raise SelectionError.
        """
        del scores
        return None


class HyperparameterSelector(ABC):
    """Chooses one configuration among the snapshots that a snapshot selector left.

    The rules are those of ``SnapshotSelector``; ties go to the earlier candidate.

    Attributes:
        name: how a sweep file names it.
        needs: the measures that it reads, of {"train_loss", "base", "val", "novel", "cv"}.
        novel_budget: how many novel evaluations it may spend; None where it does not count them.
            With a budget, novel scores are not in what it is given: each candidate has a meter in
            their place (``candidate.novel``), which measures and counts.
        asks_folds: for one that needs ``cv``, whether candidates come with the epoch that the
            snapshot selector chooses in each class fold; else only with that of the full trial.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    novel_budget: int | None = None
    asks_folds: bool = True

    @abstractmethod
    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """One of ``candidates``, which come in plan order.

        Raises:
            SelectionError: there is nothing to choose from.
        """

    def choose_all(self, scores: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """As ``SnapshotSelector.choose_all``, of the selected snapshots' scores ``[R, n]``.

        Resamples are not metered: with a budget, the rows hold all novel scores, of which no more
        may be used than the budget would pay for.
        """
        del scores
        return None


class FrontSelector(ABC):
    """Keeps those configurations that are worth looking at, instead of choosing one.

    A front is a picture, not a strategy: no single snapshot follows from it. It is named among
    the hyperparameter selectors, and shown apart from the strategies.

    Attributes:
        name, needs: as in ``HyperparameterSelector``.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @abstractmethod
    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Some of ``candidates``, in their order.

        Raises:
            SelectionError: there is nothing to choose from.
        """


AnySelector = SnapshotSelector | HyperparameterSelector | FrontSelector


def is_oracle(selector: AnySelector) -> bool:
    """Whether the selector reads novel scores."""
    return "novel" in selector.needs


def is_cross_validated(selector: AnySelector) -> bool:
    """Whether the selector reads what class folds measured."""
    return "cv" in selector.needs
