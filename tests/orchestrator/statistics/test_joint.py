"""Joint verdicts on two measures: against Holm by hand, and how often they are false."""

import math

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics import (
    Comparison,
    Interval,
    compare,
    difference_over_seeds,
)
from fsl_sweep.orchestrator.statistics.joint import Joint, joint_family


def single(effect: float, p_value: float) -> Comparison:
    interval = Interval(effect, math.nan, math.nan, 9, 0.95, "paired", None)
    return Comparison(interval, p_value, p_value, "undecided")


FAR = single(0.5, 0.0)
"""A difference that is surely found, so that the other one decides: the worst case."""


def test_the_verdicts_and_the_p_values() -> None:
    found = joint_family(
        [
            (single(0.1, 0.001), single(0.2, 0.01)),
            (single(-0.1, 0.002), single(0.2, 0.0)),
            (single(-0.1, 0.0), single(-0.2, 0.04)),
            (single(-0.1, 0.0), single(-0.2, math.nan)),
            (single(0.1, 0.0), single(0.0, 0.0)),
        ]
    )
    assert [one.verdict for one in found] == [
        "better",
        "trades",
        "worse",
        "undecided",
        "undecided",
    ]
    assert found[0] == Joint("better", (0.1, 0.2), 0.01, 0.02)
    # Of four with a p value: 0, 0.002, 0.01 and 0.04.
    assert [one.p_adjusted for one in found if one.p_adjusted == one.p_adjusted] == pytest.approx(
        [0.02, 0.006, 0.04, 0.0]
    )


def test_one_of_many_pairs_is_undecided_where_it_would_be_decided_by_itself() -> None:
    pair = (single(0.1, 0.03), single(0.1, 0.001))
    assert joint_family([pair])[0].verdict == "better"
    assert {one.verdict for one in joint_family([pair, pair])} == {"undecided"}


def false_claims(tested, worlds: int) -> float:
    """How often any of three pairs is decided where they do not differ in the first measure."""
    wrong = 0
    for _ in range(worlds):
        family = joint_family([(one, FAR) for one in tested()])
        wrong += any(one.verdict != "undecided" for one in family)
    return wrong / worlds


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_equal_methods_are_seldom_called_different_over_seeds(seeds: int) -> None:
    rng = np.random.default_rng(seeds)

    def tested() -> list[Comparison]:
        tasks = rng.normal(0, 0.1, 30)
        methods = (
            0.5 + tasks + rng.normal(0, 0.02, (3, seeds, 1)) + rng.normal(0, 0.05, (3, seeds, 30))
        )
        pairs = [(0, 1), (0, 2), (1, 2)]
        return [difference_over_seeds(methods[i], methods[j]) for i, j in pairs]

    assert false_claims(tested, 1000) <= 0.06


def test_equal_snapshots_are_seldom_called_different() -> None:
    rng = np.random.default_rng(0)

    def tested() -> list[Comparison]:
        methods = rng.binomial(25, 0.6, (3, 100)) / 25
        return [compare(methods[i], methods[j]) for i, j in [(0, 1), (0, 2), (1, 2)]]

    assert 0.02 <= false_claims(tested, 2000) <= 0.06


@pytest.mark.parametrize(
    ("pair", "level", "expected"),
    [
        ((single(math.nan, 0.1), FAR), 0.05, "Differences must be finite"),
        ((single(0.1, 1.1), FAR), 0.05, "p values must be numbers in"),
        ((FAR, FAR), 1.2, "The level lies between 0 and 1, not 1.2"),
    ],
)
def test_mistakes(pair, level, expected) -> None:
    with pytest.raises(ValueError, match=expected):
        joint_family([pair], level)
    assert joint_family([]) == ()
