import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsl_sweep.orchestrator.selectors import (
    Candidate,
    History,
    apply,
    hyperparameter_selector,
    snapshot_selector,
)
from fsl_sweep.orchestrator.selectors.base import is_oracle

# Accuracies differ by more than a rounding error, or not at all.
UNIT = st.integers(0, 1000).map(lambda count: count / 1000)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=8), UNIT)
def test_both_steps_by_counting(points: list[tuple[float, float]], w: float) -> None:
    base, val = np.array(points).T
    scores = [round(w * b + (1 - w) * v, 9) for b, v in points]
    first = scores.index(max(scores))
    history = History.from_arrays(epochs=np.arange(len(points)) + 3, base=base, val=val)
    assert apply(snapshot_selector(f"mixture({w})"), history) == first + 3
    candidates = [Candidate(str(i), {}, i + 3, history) for i in range(len(points))]
    assert apply(hyperparameter_selector(f"mixture({w})"), candidates) is candidates[first]


@pytest.mark.parametrize(("w", "measure"), [("1", "base"), ("0", "val"), ("1.0", "base")])
def test_the_ends_are_the_plain_selectors_even_where_the_other_is_nan(w: str, measure: str) -> None:
    other = "val" if measure == "base" else "base"
    scores = {measure: [0.1, 0.7, 0.7], other: [float("nan"), float("nan"), 0.9]}
    history = History.from_arrays(epochs=[1, 2, 3], **scores)
    assert apply(snapshot_selector(f"mixture({w})"), history) == 2
    assert apply(snapshot_selector(measure), history) == 2


def test_half_by_default_and_no_oracle() -> None:
    history = History.from_arrays(epochs=[1, 2, 3], base=[0.9, 0.7, 0.1], val=[0.1, 0.5, 0.9])
    assert apply(snapshot_selector("mixture"), history) == 2
    assert not is_oracle(snapshot_selector("mixture(0.2)"))
