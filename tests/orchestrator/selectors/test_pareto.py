import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.selectors import Candidate, History, apply, hyperparameter_selector
from fsl_sweep.orchestrator.selectors.base import FrontSelector, is_oracle
from fsl_sweep.orchestrator.selectors.hyperparameter import front

NAN = float("nan")


def candidates(points: list[tuple[float, float]]) -> list[Candidate]:
    return [
        Candidate(f"t{i}", {}, 1, History.from_arrays(epochs=[1], base=[b], novel=[n]))
        for i, (b, n) in enumerate(points)
    ]


def dominated(one: tuple[float, ...], others: list[tuple[float, ...]]) -> bool:
    """By definition, a point at a time."""
    return any(
        all(o >= p for o, p in zip(other, one, strict=True))
        and any(o > p for o, p in zip(other, one, strict=True))
        for other in others
    )


# A coarse grid, so that ties in one and in both measures are common.
GRID = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4, NAN])


@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=12))
def test_front_by_brute_force(points: list[tuple[float, float]]) -> None:
    expected = [not np.isnan(p).any() and not dominated(p, points) for p in points]
    assert front(np.array(points)).tolist() == expected
    given_ = candidates(points)
    selector = hyperparameter_selector("pareto")
    if not any(expected):
        with pytest.raises(SelectionError, match="no score"):
            apply(selector, given_)
        return
    chosen = apply(selector, given_)
    assert chosen == tuple(c for c, on in zip(given_, expected, strict=True) if on)
    assert is_oracle(selector)


class Backwards(FrontSelector):
    name = "backwards"
    needs = frozenset({"base"})

    def select(self, candidates):
        return candidates[::-1]


def test_a_front_comes_in_the_order_of_the_candidates() -> None:
    given_ = candidates([(0.1, 0.9), (0.2, 0.8)])
    assert apply(Backwards(), given_) == tuple(given_)
    with pytest.raises(SelectionError, match="no candidate"):
        apply(Backwards(), [])
