"""The contracts of selectors: for each demand there is a selector that fails it. NaN scores."""

from dataclasses import replace
from itertools import count
from math import nan

import numpy as np
import pytest
from choosing import candidates, selecting

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError, SelectorFault
from fsl_sweep.orchestrator.selectors import (
    FrontSelector,
    History,
    HyperparameterSelector,
    SnapshotSelector,
    apply,
)
from fsl_sweep.orchestrator.testing import (
    FrontSelectorContract,
    HyperparameterSelectorContract,
    SnapshotSelectorContract,
)


def val(candidate):
    return candidate.scores["val"]


def numbers_of(candidates):
    return [val(one) for one in candidates if val(one) == val(one)]


def near_best(fault=lambda given, kept: kept, **attributes):
    """Candidates within 0.1 of the best ValGen; ``fault`` changes what it keeps."""

    def select(given):
        best = max(numbers_of(given), default=None)
        kept = [one for one in given if best is not None and val(one) >= best - 0.1]
        if not kept and fault is not empty_without_scores:
            raise SelectionError("There is no score to choose by.")
        return fault(given, kept)

    return selecting(FrontSelector, select, **attributes)


def empty_without_scores(given, kept):
    return kept


def changing(numbers):
    """From the eleventh answer of several that differ on, it is cut short."""

    def fault(given, kept):
        differ = len({val(one) for one in kept}) > 1
        return kept[:1] if differ and next(numbers) >= 10 else kept

    return fault


# By demand: what fails it.
FAULTS = {
    "has_a_name_and_declares_known_measures": [
        near_best(name=""),
        near_best(needs=frozenset({"val", "test"})),
    ],
    "keeps_some_of_the_given_candidates": [
        lambda _, kept: [replace(one) for one in kept],
        lambda _, kept: [],
    ],
    "keeps_each_once_and_in_their_order": [
        lambda _, kept: [*kept, kept[-1]],
        lambda _, kept: sorted(kept, key=lambda one: -val(one)),
    ],
    "keeps_the_same_twice": [changing(count())],
    # All that no earlier candidate surpasses: the first is always among them.
    "the_order_of_candidates_does_not_matter": [
        lambda given, _: [
            one for i, one in enumerate(given) if val(one) >= max(numbers_of(given[: i + 1]))
        ]
    ],
    "gaps_between_epochs": [
        lambda _, kept: [o for o in kept if o.history.scores["val"][o.epoch - 1] == val(o)]
    ],
    "one_candidate": [lambda given, kept: kept if len(given) > 1 else []],
    "no_candidate": [empty_without_scores],
    "ties_are_kept_together": [
        lambda _, kept: list({val(one): one for one in reversed(kept)}.values())[::-1]
    ],
    "nan_never_wins": [
        lambda given, kept: [one for one in given if one in kept or val(one) != val(one)]
    ],
    "all_nan": [empty_without_scores],
    "reads_nothing_that_it_did_not_declare": [
        lambda _, kept: [one for one in kept if one.scores["novel"] >= 0]
    ],
}
FAILURES = {
    "gaps_between_epochs": IndexError,
    "reads_nothing_that_it_did_not_declare": SealedMeasurement,
}


class TestNearBest(FrontSelectorContract):
    selector = near_best()


@pytest.mark.parametrize(
    ("demand", "broken"), [(demand, fault) for demand, faults in FAULTS.items() for fault in faults]
)
def test_the_contract_of_fronts_notices(demand, broken):
    broken = broken if isinstance(broken, FrontSelector) else near_best(broken)
    contract = type("Contract", (FrontSelectorContract,), {"selector": broken})()
    with pytest.raises(FAILURES.get(demand, AssertionError)):
        getattr(contract, f"test_{demand}")()


def test_every_demand_has_a_fault():
    demands = {name for name in dir(FrontSelectorContract) if name.startswith("test_")}
    assert {f"test_{demand}" for demand in FAULTS} == demands


class Late(SnapshotSelector):
    """numpy's argmax takes the first NaN for the highest."""

    name, needs = "late", frozenset({"val"})

    def select(self, history):
        half = len(history.epochs) // 2
        return int(history.epochs[half:][history.scores["val"][half:].argmax()])


def vals(several):
    return [*map(val, several)]


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
def test_the_contract_notices(contract, broken, demand):
    tried = type("Tried", (contract,), {"selector": broken, "reads_scores": False})()
    with pytest.raises((AssertionError, SelectorFault)):
        getattr(tried, f"test_{demand}")()


def test_a_report_names_the_nan_that_was_chosen():
    history = History.from_arrays(epochs=[1, 2, 3, 4], val=[0.5, 0.4, nan, 0.6])
    with pytest.raises(SelectorFault) as caught:
        apply(Late(), history)
    said, _, end = str(caught.value).partition(f" ({__file__}, line ")
    assert said.endswith(
        "test_selectors chose epoch 3, whose val is NaN, although other epochs have numbers: it "
        "must leave NaN out, as `fsl_sweep.orchestrator.selectors.best.first_best` does"
    )
    assert end.endswith("). Correct it, or compare strategies without it.")
    everything = selecting(FrontSelector, lambda several: several)
    with pytest.raises(SelectorFault, match="chose trial t1, whose base, val is NaN, although"):
        apply(CARELESS, candidates(base=[0.5, nan, 0.6], val=[0.5, nan, 0.6]))
    with pytest.raises(SelectorFault, match="chose trial t1, whose val is NaN, although"):
        apply(everything, candidates(val=[0.5, nan]))


def test_nothing_but_nan_is_nothing_to_choose_from():
    # A NaN in one of several declared measures is no NaN choice.
    several = candidates(base=[0.7], val=[nan])
    assert apply(CARELESS, several) is several[0]
    with pytest.raises(SelectionError, match="no score to choose by: val of all epochs is NaN"):
        apply(Late(), History.from_arrays(epochs=[1, 2], val=[nan, nan]))
    with pytest.raises(SelectionError, match="base, val of all candidates is NaN"):
        apply(CARELESS, candidates(base=[nan, nan], val=[nan, nan]))
