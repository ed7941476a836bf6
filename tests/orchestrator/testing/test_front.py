"""The contract of front selectors: for each demand there is a selector that fails it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from choosing import selecting

from fsl_sweep.orchestrator.errors import SealedMeasurement, SelectionError
from fsl_sweep.orchestrator.selectors import Candidate, FrontSelector
from fsl_sweep.orchestrator.testing import FrontSelectorContract

Fault = Callable[[list[Candidate], list[Candidate]], Any]


def val(candidate: Candidate) -> float:
    return candidate.scores["val"]


def numbers_of(candidates: list[Candidate]) -> list[float]:
    return [val(one) for one in candidates if val(one) == val(one)]


def near_best(fault: Fault = lambda given, kept: kept, **attributes: Any) -> FrontSelector:
    """Candidates within 0.1 of the best ValGen; ``fault`` changes what it keeps."""

    def select(given: list[Candidate]) -> Any:
        best = max(numbers_of(given), default=None)
        kept = [one for one in given if best is not None and val(one) >= best - 0.1]
        if not kept and fault is not empty_without_scores:
            raise SelectionError("There is no score to choose by.")
        return fault(given, kept)

    return selecting(FrontSelector, select, **attributes)


def empty_without_scores(given: list[Candidate], kept: list[Candidate]) -> list[Candidate]:
    return kept


def changing(numbers: "count[int]") -> Fault:
    """From the eleventh answer of several that differ on, it is cut short."""

    def fault(given: list[Candidate], kept: list[Candidate]) -> list[Candidate]:
        differ = len({val(one) for one in kept}) > 1
        return kept[:1] if differ and next(numbers) >= 10 else kept

    return fault


# By demand: what fails it.
FAULTS: dict[str, list[Fault | FrontSelector]] = {
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
def test_the_contract_notices(demand: str, broken: FrontSelector | Fault) -> None:
    broken = broken if isinstance(broken, FrontSelector) else near_best(broken)
    contract = type("Contract", (FrontSelectorContract,), {"selector": broken})()
    with pytest.raises(FAILURES.get(demand, AssertionError)):
        getattr(contract, f"test_{demand}")()


def test_every_demand_has_a_fault() -> None:
    demands = {name for name in dir(FrontSelectorContract) if name.startswith("test_")}
    assert {f"test_{demand}" for demand in FAULTS} == demands
