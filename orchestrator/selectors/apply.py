"""How every selector is run: on a sealed view of what it declares, its answer checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors.base import (
    NONE,
    AnySelector,
    FrontSelector,
    HyperparameterSelector,
    SnapshotSelector,
    is_cross_validated,
    is_oracle,
)
from fsl_sweep.orchestrator.selectors.candidate import Candidate
from fsl_sweep.orchestrator.selectors.history import History, Measurements, require
from fsl_sweep.orchestrator.selectors.meter import Account
from fsl_sweep.orchestrator.selectors.third_party import (
    broken_promise,
    faults_named,
    is_ours,
    short,
)

Choices = History | Sequence[Candidate]


@overload
def apply(selector: SnapshotSelector, choices: History) -> int: ...
@overload
def apply(selector: HyperparameterSelector, choices: Sequence[Candidate]) -> Candidate: ...
@overload
def apply(selector: FrontSelector, choices: Sequence[Candidate]) -> tuple[Candidate, ...]: ...
def apply(selector: AnySelector, choices: Choices) -> int | Candidate | tuple[Candidate, ...]:
    """Run a selector on a sealed view of what it declares, and check its answer.

    Returns:
        An epoch for a snapshot selector; one of the given candidates (not its view) for a
        hyperparameter selector; several of them for a front selector.

    Raises:
        SelectionError: there is nothing to choose from, a declared measure was not recorded, or
            all declared scores are NaN.
        SelectorFault: a third party's selector raised an error of its own, its answer is not
            among the choices, or the scores of its choice are NaN while others have numbers.
        SealedMeasurement: the selector read a measure that it did not declare.
        BudgetSpent: it asked for more novel evaluations than its budget.
    """
    if isinstance(selector, SnapshotSelector):
        assert isinstance(choices, History)
        return _snapshot(selector, choices)
    assert not isinstance(choices, History)
    chosen, _ = _chosen(selector, choices)
    return chosen[0] if isinstance(selector, HyperparameterSelector) else chosen


def apply_counted(
    selector: HyperparameterSelector, candidates: Sequence[Candidate]
) -> tuple[Candidate, int]:
    """Run a selector as ``apply`` does, and count how many novel scores it read.

    With a budget that is what its meter counted, rounded up to whole evaluations; a selector that
    declares ``novel`` without one reads all of them; any other none.
    """
    (chosen,), seen = _chosen(selector, candidates)
    return chosen, seen


def apply_all(
    selector: SnapshotSelector | HyperparameterSelector,
    scores: Mapping[str, np.ndarray],
    choices_of: Callable[[int], Choices],
    few: int,
) -> np.ndarray:
    """Return positions of what is chosen in many resamples, int64 ``[R]``; NONE for nothing.

    Args:
        selector: as in ``apply``.
        scores: what the selector declares, float64 ``[R, N]`` of N epochs or candidates.
        choices_of: gives the choices of a resample; may raise SelectionError if there are none.
        few: the number of resamples for a selector that cannot choose in all at once. The
            result is then ``[few]``.

    Raises:
        SelectorFault, SealedMeasurement, BudgetSpent: as ``apply``.
    """
    at = _in_each(selector, scores) if scores else None
    if at is None:
        return np.array([_position(selector, choices_of, resample) for resample in range(few)])
    return at


def apply_at_once(
    selector: SnapshotSelector | HyperparameterSelector, read: Callable[[str], np.ndarray]
) -> np.ndarray | None:
    """Return positions of what ``apply`` chooses in each row, int64 ``[R]``; NONE where it raises.

    Args:
        selector: as in ``apply``.
        read: gives the scores of a declared measure ``[R, N]``, a row for each set of choices.

    Returns:
        None for a selector that has to choose row by row: a third party's, whose ``select`` may
        have another rule than its ``choose_all``, or one that reads folds, a meter or no score.
    """
    metered = isinstance(selector, HyperparameterSelector) and selector.novel_budget is not None
    if metered or is_cross_validated(selector) or not selector.needs or not is_ours(selector):
        return None
    return _in_each(selector, {measure: read(measure) for measure in selector.needs})


def _in_each(
    selector: SnapshotSelector | HyperparameterSelector, scores: Mapping[str, np.ndarray]
) -> np.ndarray | None:
    """Return the checked answer of ``choose_all``."""
    sealed = Measurements({m: v.view() for m, v in scores.items()}, (selector.name, selector.needs))
    with faults_named(selector):
        positions = selector.choose_all(sealed)
    if positions is None:
        return None
    at, (count, most) = np.asarray(positions), next(iter(scores.values())).shape
    if at.shape != (count,) or at.dtype.kind != "i" or at.min() < NONE or at.max() >= most:
        problem = "did not give one position for each resample: `choose_all` must return"
        raise broken_promise(selector, f"{problem} {count} integers from {NONE} to {most - 1}")
    return at


def _position(
    selector: SnapshotSelector | HyperparameterSelector,
    choices_of: Callable[[int], Choices],
    resample: int,
) -> int:
    try:
        choices = choices_of(resample)
        if isinstance(selector, SnapshotSelector):
            assert isinstance(choices, History)
            return choices.index(apply(selector, choices))
        assert not isinstance(choices, History)
        chosen = apply(selector, choices)
        return next(i for i, candidate in enumerate(choices) if candidate is chosen)
    except SelectionError:
        return NONE


def _snapshot(selector: SnapshotSelector, history: History) -> int:
    require(history, selector.needs, selector.name)
    view = history.view(selector.needs, selector.name)
    with faults_named(selector):
        epoch = selector.select(view)
    whole = isinstance(epoch, (int, np.integer)) and not isinstance(epoch, bool)
    if not whole or not (history.epochs == epoch).any():
        problem = f"chose {short(repr(epoch))}, which is not a recorded epoch: it must return one "
        raise broken_promise(selector, f"{problem}of `history.epochs`")
    if selector.needs:
        declared = np.array([history.scores[measure] for measure in selector.needs])
        blank = np.asarray(np.isnan(declared).all(axis=0))
        if blank[history.index(int(epoch))]:
            raise _chose_nan(selector, f"epoch {epoch}", "epochs", all_nan=bool(blank.all()))
    return int(epoch)


def _chosen(
    selector: HyperparameterSelector | FrontSelector, candidates: Sequence[Candidate]
) -> tuple[tuple[Candidate, ...], int]:
    """Return the candidates whose views the selector chooses, in order, and novel scores read."""
    if not candidates:
        raise SelectionError(f"Selector '{selector.name}' has no candidate to choose from.")
    for candidate in candidates:
        require(candidate.history, selector.needs, selector.name)
    single = isinstance(selector, HyperparameterSelector)
    name, account = selector.name, None
    if single and selector.novel_budget is not None:
        account, unmetered = Account(name, selector.novel_budget), selector.needs - {"novel"}
        views = [replace(c.view(unmetered, name), novel=c.metered(account)) for c in candidates]
    else:
        views = [candidate.view(selector.needs, name) for candidate in candidates]
    with faults_named(selector):
        answer = (selector.select(views),) if single else tuple(selector.select(views))
    chosen = _behind(selector, candidates, views, answer)
    for candidate in chosen:
        if _is_blank(candidate, selector.needs):
            all_nan = all(_is_blank(other, selector.needs) for other in candidates)
            raise _chose_nan(selector, f"trial {candidate.trial}", "candidates", all_nan=all_nan)
    seen = len(candidates) if is_oracle(selector) else 0
    return chosen, seen if account is None else account.evaluations


def _behind(
    selector: AnySelector,
    candidates: Sequence[Candidate],
    views: Sequence[Candidate],
    answer: Sequence[Candidate],
) -> tuple[Candidate, ...]:
    """Return the candidates whose views are in the answer, in the order of ``candidates``."""
    for choice in answer:
        if not any(choice is view for view in views):
            problem = f"chose {short(repr(choice))}, which is not one of the candidates: it must "
            raise broken_promise(selector, f"{problem}return what it was given")
    if not answer:
        problem = "chose no candidate at all: if there is nothing to choose it must raise "
        raise broken_promise(selector, f"{problem}SelectionError")
    chosen = {id(view) for view in answer}
    return tuple(c for c, view in zip(candidates, views, strict=True) if id(view) in chosen)


def _is_blank(candidate: Candidate, needs: frozenset[str]) -> bool:
    """Tell whether all declared scores of the selected snapshot are NaN."""
    scores = candidate.scores
    return bool(needs) and all(np.isnan(scores[measure]) for measure in needs)


def _chose_nan(selector: AnySelector, answer: str, others: str, *, all_nan: bool) -> Exception:
    """Return the exception for an answer of which all that the selector declared is NaN."""
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
