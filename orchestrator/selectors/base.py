"""The two kinds of selector, and the one way in which they are run.

Source: "Two Sides of Meta-Learning Evaluation", section 5.1 and appendix F.1.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, overload

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.history import Candidate, History, require
from fsl_sweep.orchestrator.meter import Account
from fsl_sweep.orchestrator.selectors.foreign import broken_promise, faults_told, short


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
            snapshot selector chooses in each class fold; else with that of the full trial alone.
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


@overload
def apply(selector: SnapshotSelector, choices: History) -> int: ...
@overload
def apply(selector: HyperparameterSelector, choices: Sequence[Candidate]) -> Candidate: ...
@overload
def apply(selector: FrontSelector, choices: Sequence[Candidate]) -> tuple[Candidate, ...]: ...
def apply(
    selector: AnySelector, choices: History | Sequence[Candidate]
) -> int | Candidate | tuple[Candidate, ...]:
    """Run a selector on a sealed view of what it declares, and check its answer.

    Returns:
        An epoch for a snapshot selector; one of the given candidates (not its view) for a
        hyperparameter selector; several of them for a front selector.

    Raises:
        SelectionError: there is nothing to choose from, a declared measure was not recorded, or
            all scores that were declared are NaN.
        SelectorFault: a third party's selector raised an error of its own, its answer is not
            among the choices, or it is one whose scores are NaN while others have numbers.
        SealedMeasurement: the selector read a measure that it did not declare.
        BudgetSpent: it asked for more novel evaluations than its budget.
        TypeError: the selector and the choices do not belong together.
    """
    if isinstance(selector, SnapshotSelector) and isinstance(choices, History):
        return _snapshot(selector, choices)
    if isinstance(selector, HyperparameterSelector) and not isinstance(choices, History):
        return apply_counted(selector, choices)[0]
    if isinstance(selector, FrontSelector) and not isinstance(choices, History):
        views = _views(selector, choices, selector.needs)
        with faults_told(selector):
            answer = tuple(selector.select(views))
        kept = {id(one) for one in _given(selector, choices, views, answer)}
        return tuple(one for one in choices if id(one) in kept)
    raise TypeError(
        f"{type(selector).__name__} cannot choose from {type(choices).__name__}: a snapshot "
        "selector takes a History, a hyperparameter selector a sequence of Candidates."
    )


def apply_counted(
    selector: HyperparameterSelector, given: Sequence[Candidate]
) -> tuple[Candidate, int]:
    """As ``apply``, and how many of the candidates' novel scores were looked at.

    With a budget that is what its meter counted, rounded up to whole evaluations; a selector that
    declares ``novel`` without one looks at all candidates; any other at none.
    """
    if selector.novel_budget is None:
        views = _views(selector, given, selector.needs)
        seen = len(given) if is_oracle(selector) else 0
        return _single(selector, given, views), seen
    account = Account(selector.name, selector.novel_budget)
    views = _views(selector, given, selector.needs - {"novel"})
    metered = tuple(
        replace(view, novel=one.metered(account)) for view, one in zip(views, given, strict=True)
    )
    return _single(selector, given, metered), account.evaluations


def is_oracle(selector: AnySelector) -> bool:
    """Whether the selector reads novel scores."""
    return "novel" in selector.needs


def is_cross_validated(selector: AnySelector) -> bool:
    """Whether the selector reads what class folds measured."""
    return "cv" in selector.needs


def _snapshot(selector: SnapshotSelector, history: History) -> int:
    require(history, selector.needs, selector.name)
    view = history.view(selector.needs, selector.name)
    with faults_told(selector):
        epoch = selector.select(view)
    whole = isinstance(epoch, (int, np.integer)) and not isinstance(epoch, bool)
    if not whole or not (history._epochs == epoch).any():
        problem = f"chose {_shown(epoch)}, which is not a recorded epoch: it must return one of "
        raise broken_promise(selector, f"{problem}`history.epochs`")
    if selector.needs:
        declared = np.array([history.scores._held[measure] for measure in selector.needs])
        blank = np.asarray(np.isnan(declared).all(axis=0))
        if blank[history.index(int(epoch))]:
            raise _chose_nan(selector, f"epoch {epoch}", "epochs", all_nan=bool(blank.all()))
    return int(epoch)


def _views(
    selector: HyperparameterSelector | FrontSelector,
    given: Sequence[Candidate],
    needs: frozenset[str],
) -> tuple[Candidate, ...]:
    if not given:
        raise SelectionError(f"Selector '{selector.name}' has no candidate to choose from.")
    for candidate in given:
        require(candidate.history, selector.needs, selector.name)
    return tuple(candidate.view(needs, selector.name) for candidate in given)


def _single(
    selector: HyperparameterSelector, given: Sequence[Candidate], views: Sequence[Candidate]
) -> Candidate:
    """The given candidate whose view the selector chooses."""
    with faults_told(selector):
        answer = selector.select(views)
    return _given(selector, given, views, (answer,))[0]


def _given(
    selector: HyperparameterSelector | FrontSelector,
    given: Sequence[Candidate],
    views: Sequence[Candidate],
    chosen: Sequence[Candidate],
) -> list[Candidate]:
    """The given candidates whose views were chosen."""
    originals = {id(view): one for one, view in zip(given, views, strict=True)}
    for one in chosen:
        if id(one) not in originals:
            problem = f"chose {_shown(one)}, which is not one of the candidates: it must return "
            raise broken_promise(selector, f"{problem}what it was given")
    if not chosen:
        problem = "chose no candidate at all: where there is nothing to choose it must raise "
        raise broken_promise(selector, f"{problem}SelectionError")
    found = [originals[id(one)] for one in chosen]
    for one in filter(lambda one: _is_blank(one, selector.needs), found):
        all_nan = all(_is_blank(other, selector.needs) for other in given)
        raise _chose_nan(selector, f"trial {one.trial}", "candidates", all_nan=all_nan)
    return found


def _is_blank(candidate: Candidate, needs: frozenset[str]) -> bool:
    """Whether all declared scores of the selected snapshot are NaN."""
    scores = candidate.scores._held
    return bool(needs) and all(np.isnan(scores[measure]) for measure in needs)


def _chose_nan(selector: AnySelector, answer: str, others: str, *, all_nan: bool) -> Exception:
    """The exception for an answer of which all that the selector declared is NaN."""
    needs = ", ".join(sorted(selector.needs))
    if all_nan:
        return SelectionError(
            f"Selector '{selector.name}' has no score to choose by: {needs} of all {others} is NaN."
        )
    return broken_promise(
        selector,
        f"chose {answer}, whose {needs} is NaN, although other {others} have numbers: it must "
        "leave NaN out, as `fsl_sweep.orchestrator.selectors.best.first_best` does",
    )


def _shown(answer: object) -> str:
    try:
        return short(repr(answer))
    except Exception:  # a stranger's object may not even have a text
        return f"an object of type {type(answer).__name__}"
