"""The contract of front selectors: for each demand there is a selector that fails it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import ClassVar

import pytest

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError
from fsl_sweep.orchestrator.selectors import Candidate, FrontSelector
from fsl_sweep.orchestrator.testing import FrontSelectorContract

Candidates = Sequence[Candidate]
Fault = Callable[[Candidates, list[Candidate]], Candidates]


class NearBest(FrontSelector):
    """Candidates within 0.1 of the best ValGen; ``fault`` changes what it keeps."""

    name: ClassVar[str] = "near-best"
    needs: ClassVar[frozenset[str]] = frozenset({"val"})

    def __init__(self, fault: Fault = lambda given, kept: kept) -> None:
        self.fault = fault

    def select(self, candidates: Candidates) -> Candidates:
        there = [one for one in candidates if val(one) == val(one)]
        if not there:
            raise SelectionError("There is no score to choose by.")
        best = max(map(val, there))
        return self.fault(candidates, [one for one in there if val(one) >= best - 0.1])


class Unnamed(NearBest):
    name: ClassVar[str] = ""


class DeclaresWhatNobodyMeasures(NearBest):
    needs: ClassVar[frozenset[str]] = frozenset({"val", "test"})


class EmptyWithoutScores(NearBest):
    def select(self, candidates: Candidates) -> Candidates:
        try:
            return super().select(candidates)
        except SelectionError:
            return []


def val(one: Candidate) -> float:
    return one.scores["val"]


def changing(numbers: "count[int]") -> Fault:
    """From the eleventh answer of several that differ on, it is cut short."""

    def fault(given: Candidates, kept: list[Candidate]) -> Candidates:
        differ = len({val(one) for one in kept}) > 1
        return kept[:1] if differ and next(numbers) >= 10 else kept

    return fault


def numbers_of(given: Candidates) -> list[float]:
    return [val(one) for one in given if val(one) == val(one)]


# The demand, what fails it, and how.
FAULTS: list[tuple[str, FrontSelector | Fault, type[Exception]]] = [
    ("has_a_name_and_declares_known_measures", Unnamed(), AssertionError),
    ("has_a_name_and_declares_known_measures", DeclaresWhatNobodyMeasures(), AssertionError),
    (
        "keeps_some_of_the_given_candidates",
        lambda _, kept: [replace(one) for one in kept],
        AssertionError,
    ),
    ("keeps_some_of_the_given_candidates", lambda _, kept: [], AssertionError),
    ("keeps_each_once_and_in_their_order", lambda _, kept: [*kept, kept[-1]], AssertionError),
    (
        "keeps_each_once_and_in_their_order",
        lambda _, kept: sorted(kept, key=lambda one: -val(one)),
        AssertionError,
    ),
    ("keeps_the_same_twice", changing(count()), AssertionError),
    (  # all that no earlier candidate surpasses: the first is always among them
        "the_order_of_candidates_does_not_matter",
        lambda given, _: [
            one for i, one in enumerate(given) if val(one) >= max(numbers_of(given[: i + 1]))
        ],
        AssertionError,
    ),
    (
        "gaps_between_epochs",
        lambda _, kept: [o for o in kept if o.history.scores["val"][o.epoch - 1] == val(o)],
        IndexError,
    ),
    ("one_candidate", lambda given, kept: kept if len(given) > 1 else [], AssertionError),
    ("no_candidate", EmptyWithoutScores(), AssertionError),
    (
        "ties_are_kept_together",
        lambda _, kept: list({val(one): one for one in reversed(kept)}.values())[::-1],
        AssertionError,
    ),
    (
        "nan_never_wins",
        lambda given, kept: [one for one in given if one in kept or val(one) != val(one)],
        AssertionError,
    ),
    ("all_nan", EmptyWithoutScores(), AssertionError),
    (
        "reads_nothing_that_it_did_not_declare",
        lambda _, kept: [one for one in kept if one.scores["novel"] >= 0],
        SealedMeasurement,
    ),
]
DEMANDS = [name for name in dir(FrontSelectorContract) if name.startswith("test_")]


class TestNearBest(FrontSelectorContract):
    selector: ClassVar[FrontSelector] = NearBest()


@pytest.mark.parametrize(("demand", "broken", "failure"), FAULTS)
def test_the_contract_notices(
    demand: str, broken: FrontSelector | Fault, failure: type[Exception]
) -> None:
    broken = broken if isinstance(broken, FrontSelector) else NearBest(broken)
    contract = type("Contract", (FrontSelectorContract,), {"selector": broken})()
    with pytest.raises(failure):
        getattr(contract, f"test_{demand}")()


def test_every_demand_has_a_fault() -> None:
    assert {f"test_{demand}" for demand, _, _ in FAULTS} == set(DEMANDS)
