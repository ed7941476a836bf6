"""The two kinds of selector, and the one way in which they are run.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.1.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, overload

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History, require


class SnapshotSelector(ABC):
    """Chooses one snapshot of a trial.

    A selector is a pure function of what it declares: the same history, the same epoch. Ties go
    to the earlier epoch, and a NaN score never wins.

    Attributes:
        name: how a sweep file names it.
        needs: the measures that it reads, of {"train_loss", "base", "val", "novel"}. One that
            needs ``novel`` is an oracle, and shown as such.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @abstractmethod
    def select(self, history: History) -> int:
        """An epoch of ``history.epochs``.

        Raises:
            SelectionError: there is nothing to choose from.
        """


class HyperparameterSelector(ABC):
    """Chooses one configuration among the snapshots that a snapshot selector left.

    The rules are those of ``SnapshotSelector``; ties go to the earlier candidate.

    Attributes:
        name: how a sweep file names it.
        needs: the measures that it reads, of {"train_loss", "base", "val", "novel"}.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @abstractmethod
    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        """One of ``candidates``, which come in plan order.

        Raises:
            SelectionError: there is nothing to choose from.
        """


@overload
def apply(selector: SnapshotSelector, choices: History) -> int: ...
@overload
def apply(selector: HyperparameterSelector, choices: Sequence[Candidate]) -> Candidate: ...
def apply(
    selector: SnapshotSelector | HyperparameterSelector, choices: History | Sequence[Candidate]
) -> int | Candidate:
    """Run a selector on a sealed view of what it declares, and check its answer.

    Returns:
        An epoch for a snapshot selector; one of the given candidates (not its view) for a
        hyperparameter selector.

    Raises:
        SelectionError: there is nothing to choose from, a declared measure was not recorded, or
            the answer is not among the choices.
        SealedMeasurement: the selector read a measure that it did not declare.
        TypeError: the selector and the choices do not belong together.
    """
    if isinstance(selector, SnapshotSelector) and isinstance(choices, History):
        return _snapshot(selector, choices)
    if isinstance(selector, HyperparameterSelector) and not isinstance(choices, History):
        return _configuration(selector, choices)
    raise TypeError(
        f"{type(selector).__name__} cannot choose from {type(choices).__name__}: a snapshot "
        "selector takes a History, a hyperparameter selector a sequence of Candidates."
    )


def is_oracle(selector: SnapshotSelector | HyperparameterSelector) -> bool:
    """Whether the selector reads novel scores."""
    return "novel" in selector.needs


def _snapshot(selector: SnapshotSelector, history: History) -> int:
    require(history, selector.needs, selector.name)
    epoch = selector.select(history.view(selector.needs, selector.name))
    whole = isinstance(epoch, (int, np.integer)) and not isinstance(epoch, bool)
    if not whole or epoch not in history.epochs:
        raise SelectionError(
            f"Selector '{selector.name}' chose {epoch!r}, which is not a recorded epoch. "
            "It must return one of `history.epochs`."
        )
    return int(epoch)


def _configuration(selector: HyperparameterSelector, given: Sequence[Candidate]) -> Candidate:
    if not given:
        raise SelectionError(f"Selector '{selector.name}' has no candidate to choose from.")
    for candidate in given:
        require(candidate.history, selector.needs, selector.name)
    views = [candidate.view(selector.needs, selector.name) for candidate in given]
    chosen = selector.select(tuple(views))
    for original, view in zip(given, views, strict=True):
        if view is chosen:
            return original
    raise SelectionError(
        f"Selector '{selector.name}' chose {chosen!r}, which is not one of the candidates. "
        "It must return one of the objects that it was given."
    )
