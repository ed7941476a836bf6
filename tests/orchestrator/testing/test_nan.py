"""NaN scores: the contracts notice a selector that chooses one, and so does a report."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from fsl_sweep.orchestrator.errors import SelectionError, SelectorFault
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    FrontSelector,
    History,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)
from fsl_sweep.orchestrator.testing import HyperparameterSelectorContract, SnapshotSelectorContract

NAN = float("nan")


class Late(SnapshotSelector):
    """numpy's argmax takes the first NaN for the highest."""

    name: ClassVar[str] = "late"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def select(self, history: History) -> int:
        half = len(history.epochs) // 2
        return int(history.epochs[half:][history.scores["val"][half:].argmax()])


class Careless(HyperparameterSelector):
    name: ClassVar[str] = "careless"
    needs: ClassVar[frozenset[str]] = frozenset({"base", "val"})

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        return candidates[int(np.argmax([one.scores["val"] for one in candidates]))]


class LastNumber(Careless):
    """Right where one candidate has numbers, which is all that used to be tried."""

    def select(self, candidates: Sequence[Candidate]) -> Candidate:
        val = [one.scores["val"] for one in candidates]
        if np.isnan(val).all():
            raise SelectionError("There is no score to choose by.")
        if np.isfinite(val).sum() == 1 or np.isfinite(val).all():
            return candidates[int(np.nanargmax(val))]
        return candidates[int(np.argmax(val))]


class Everything(FrontSelector):
    name: ClassVar[str] = "everything"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def select(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return candidates


@pytest.mark.parametrize(
    ("contract", "broken", "demand"),
    [
        (SnapshotSelectorContract, Late(), "nan_is_not_chosen_where_there_are_numbers"),
        (SnapshotSelectorContract, Late(), "all_nan"),
        (HyperparameterSelectorContract, Careless(), "nan_is_not_chosen_where_there_are_numbers"),
        (HyperparameterSelectorContract, LastNumber(), "nan_is_not_chosen_where_there_are_numbers"),
        (HyperparameterSelectorContract, Careless(), "all_nan"),
    ],
)
def test_the_contract_notices(contract: type[Any], broken: object, demand: str) -> None:
    tried = type("Tried", (contract,), {"selector": broken, "reads_scores": False})()
    with pytest.raises((AssertionError, SelectorFault)):
        getattr(tried, f"test_{demand}")()


def candidates(*values: float) -> list[Candidate]:
    return [
        Candidate(f"t{i}", {}, 1, History.from_arrays(epochs=[1], base=[value], val=[value]))
        for i, value in enumerate(values)
    ]


def test_a_report_is_told_which_nan_was_chosen() -> None:
    history = History.from_arrays(epochs=[1, 2, 3, 4], val=[0.5, 0.4, NAN, 0.6])
    with pytest.raises(SelectorFault) as raised:
        apply(Late(), history)
    for part in (
        "test_nan chose epoch 3, whose val is NaN, although other epochs have numbers: it must",
        "leave NaN out, as `fsl_sweep.orchestrator.selectors.best.first_best` does (",
        "test_nan.py, line ",
        "Correct it, or compare strategies without it.",
    ):
        assert part in str(raised.value)
    with pytest.raises(SelectorFault, match="chose trial t1, whose base, val is NaN, although"):
        apply(Careless(), candidates(0.5, NAN, 0.6))
    with pytest.raises(SelectorFault, match="chose trial t1, whose val is NaN, although"):
        apply(Everything(), candidates(0.5, NAN))


def test_nothing_but_nan_is_nothing_to_choose_from() -> None:
    # A NaN in one of several declared measures is no NaN choice.
    some = Candidate("t", {}, 1, History.from_arrays(epochs=[1], base=[0.7], val=[NAN]))
    assert apply(Careless(), [some]) is some
    nothing = History.from_arrays(epochs=[1, 2], val=[NAN, NAN])
    with pytest.raises(SelectionError, match="no score to choose by: val of all epochs is NaN"):
        apply(Late(), nothing)
    with pytest.raises(SelectionError, match="base, val of all candidates is NaN"):
        apply(Careless(), candidates(NAN, NAN))
