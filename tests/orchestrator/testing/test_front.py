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


class EmptyWithoutCandidates(NearBest):
    def select(self, candidates: Candidates) -> Candidates:
        return super().select(candidates) if candidates else []


class EmptyWithoutScores(NearBest):
    def select(self, candidates: Candidates) -> Candidates:
        try:
            return super().select(candidates)
        except SelectionError:
            if not candidates:
                raise
            return []


def val(one: Candidate) -> float:
    return one.scores["val"]


def made_up(given: Candidates, kept: list[Candidate]) -> Candidates:
    return [replace(one) for one in kept]


def empty(given: Candidates, kept: list[Candidate]) -> Candidates:
    return []


def twice(given: Candidates, kept: list[Candidate]) -> Candidates:
    return [*kept, kept[-1]]


def best_first(given: Candidates, kept: list[Candidate]) -> Candidates:
    return sorted(kept, key=lambda one: -val(one))


def changing(numbers: "count[int]") -> Fault:
    """From the eleventh answer of several that differ on, it is cut short."""

    def fault(given: Candidates, kept: list[Candidate]) -> Candidates:
        differ = len({val(one) for one in kept}) > 1
        return kept[:1] if differ and next(numbers) >= 10 else kept

    return fault


def records_so_far(given: Candidates, kept: list[Candidate]) -> Candidates:
    """All that no earlier candidate surpasses: the first is always among them."""
    there = [one for one in given if val(one) == val(one)]
    return [o for i, o in enumerate(there) if val(o) >= max(map(val, there[: i + 1]))]


def epochs_as_positions(given: Candidates, kept: list[Candidate]) -> Candidates:
    return [one for one in kept if one.history.scores["val"][one.epoch - 1] == val(one)]


def a_pair_at_least(given: Candidates, kept: list[Candidate]) -> Candidates:
    return kept if len(given) > 1 else []


def first_of_equals(given: Candidates, kept: list[Candidate]) -> Candidates:
    return list({val(one): one for one in reversed(kept)}.values())[::-1]


def with_nan(given: Candidates, kept: list[Candidate]) -> Candidates:
    return [one for one in given if one in kept or val(one) != val(one)]


def peeking(given: Candidates, kept: list[Candidate]) -> Candidates:
    return [one for one in kept if one.scores["novel"] >= 0]


WITH = "has_a_name_and_declares_known_measures"
FAULTS: list[tuple[FrontSelector, str, type[Exception]]] = [
    (Unnamed(), WITH, AssertionError),
    (DeclaresWhatNobodyMeasures(), WITH, AssertionError),
    (NearBest(made_up), "keeps_some_of_the_given_candidates", AssertionError),
    (NearBest(empty), "keeps_some_of_the_given_candidates", AssertionError),
    (NearBest(twice), "keeps_each_once_and_in_their_order", AssertionError),
    (NearBest(best_first), "keeps_each_once_and_in_their_order", AssertionError),
    (NearBest(changing(count())), "keeps_the_same_twice", AssertionError),
    (NearBest(records_so_far), "the_order_of_candidates_does_not_matter", AssertionError),
    (NearBest(epochs_as_positions), "gaps_between_epochs", IndexError),
    (NearBest(a_pair_at_least), "one_candidate", AssertionError),
    (EmptyWithoutCandidates(), "no_candidate", AssertionError),
    (NearBest(first_of_equals), "ties_are_kept_together", AssertionError),
    (NearBest(with_nan), "nan_never_wins", AssertionError),
    (EmptyWithoutScores(), "all_nan", AssertionError),
    (NearBest(peeking), "reads_nothing_that_it_did_not_declare", SealedMeasurement),
]
DEMANDS = [name for name in dir(FrontSelectorContract) if name.startswith("test_")]


class TestNearBest(FrontSelectorContract):
    selector: ClassVar[FrontSelector] = NearBest()


@pytest.mark.parametrize(("broken", "demand", "failure"), FAULTS)
def test_the_contract_notices(broken: FrontSelector, demand: str, failure: type[Exception]) -> None:
    contract = type("Contract", (FrontSelectorContract,), {"selector": broken})()
    with pytest.raises(failure):
        getattr(contract, f"test_{demand}")()


def test_every_demand_has_a_fault() -> None:
    assert {f"test_{demand}" for _, demand, _ in FAULTS} == set(DEMANDS)
