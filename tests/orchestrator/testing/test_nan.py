"""NaN scores: the contracts notice a selector that chooses one, and so does a report."""

from math import nan
from typing import Any

import numpy as np
import pytest
from choosing import candidates, selecting

from fsl_sweep.orchestrator.errors import SelectionError, SelectorFault
from fsl_sweep.orchestrator.selectors import (
    FrontSelector,
    History,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)
from fsl_sweep.orchestrator.testing import HyperparameterSelectorContract, SnapshotSelectorContract


class Late(SnapshotSelector):
    """numpy's argmax takes the first NaN for the highest."""

    name, needs = "late", frozenset({"val"})

    def select(self, history: History) -> int:
        half = len(history.epochs) // 2
        return int(history.epochs[half:][history.scores["val"][half:].argmax()])


def vals(several) -> list[float]:
    return [candidate.scores["val"] for candidate in several]


def last_number(several):
    """Right where one candidate has numbers, which is all that used to be tried."""
    val = vals(several)
    if np.isnan(val).all():
        raise SelectionError("There is no score to choose by.")
    if np.isfinite(val).sum() == 1 or np.isfinite(val).all():
        return several[int(np.nanargmax(val))]
    return several[int(np.argmax(val))]


CARELESS, LAST_NUMBER = (
    selecting(HyperparameterSelector, select, "base", "val")
    for select in (lambda several: several[int(np.argmax(vals(several)))], last_number)
)
NUMBERS = "nan_is_not_chosen_where_there_are_numbers"


@pytest.mark.parametrize(
    ("contract", "broken", "demand"),
    [
        *((SnapshotSelectorContract, Late(), demand) for demand in (NUMBERS, "all_nan")),
        *((HyperparameterSelectorContract, CARELESS, demand) for demand in (NUMBERS, "all_nan")),
        (HyperparameterSelectorContract, LAST_NUMBER, NUMBERS),
    ],
)
def test_the_contract_notices(contract: type[Any], broken: object, demand: str) -> None:
    tried = type("Tried", (contract,), {"selector": broken, "reads_scores": False})()
    with pytest.raises((AssertionError, SelectorFault)):
        getattr(tried, f"test_{demand}")()


def test_a_report_names_the_nan_that_was_chosen() -> None:
    history = History.from_arrays(epochs=[1, 2, 3, 4], val=[0.5, 0.4, nan, 0.6])
    with pytest.raises(SelectorFault) as caught:
        apply(Late(), history)
    said, _, end = str(caught.value).partition(f" ({__file__}, line ")
    assert said.endswith(
        "test_nan chose epoch 3, whose val is NaN, although other epochs have numbers: it must "
        "leave NaN out, as `fsl_sweep.orchestrator.selectors.best.first_best` does"
    )
    assert end.endswith("). Correct it, or compare strategies without it.")
    everything = selecting(FrontSelector, lambda several: several)
    with pytest.raises(SelectorFault, match="chose trial t1, whose base, val is NaN, although"):
        apply(CARELESS, candidates(base=[0.5, nan, 0.6], val=[0.5, nan, 0.6]))
    with pytest.raises(SelectorFault, match="chose trial t1, whose val is NaN, although"):
        apply(everything, candidates(val=[0.5, nan]))


def test_nothing_but_nan_is_nothing_to_choose_from() -> None:
    # A NaN in one of several declared measures is no NaN choice.
    several = candidates(base=[0.7], val=[nan])
    assert apply(CARELESS, several) is several[0]
    with pytest.raises(SelectionError, match="no score to choose by: val of all epochs is NaN"):
        apply(Late(), History.from_arrays(epochs=[1, 2], val=[nan, nan]))
    with pytest.raises(SelectionError, match="base, val of all candidates is NaN"):
        apply(CARELESS, candidates(base=[nan, nan], val=[nan, nan]))
