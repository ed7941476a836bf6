"""Joint verdicts on two measures: against Holm by hand, and how often they are false."""

import math
from itertools import combinations

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics import Comparison, compare, difference_over_seeds, mean_alone
from fsl_sweep.orchestrator.statistics.joint import Joint, joint_family


def single(effect: float, p_value: float) -> Comparison:
    return Comparison(mean_alone(effect), p_value, p_value, "undecided")


def test_the_verdicts_and_the_p_values() -> None:
    better, *others = joint_family(
        [
            (single(0.1, 0.001), single(0.2, 0.01)),
            (single(-0.1, 0.002), single(0.2, 0.0)),
            (single(-0.1, 0.0), single(-0.2, 0.04)),
            (single(-0.1, 0.0), single(-0.2, math.nan)),
            (single(0.1, 0.0), single(0.0, 0.0)),
        ]
    )
    # Of four with a p value: 0, 0.002, 0.01 and 0.04.
    assert better == Joint("better", (0.1, 0.2), 0.01, 0.02)
    assert [pair.verdict for pair in others] == ["trades", "worse", "undecided", "undecided"]
    expected = [0.006, 0.04, math.nan, 0.0]
    assert [pair.p_adjusted for pair in others] == pytest.approx(expected, nan_ok=True)
    assert joint_family([]) == ()


def test_one_of_many_pairs_is_undecided_where_it_would_be_decided_by_itself() -> None:
    pair = single(0.1, 0.03), single(0.1, 0.001)
    assert joint_family([pair])[0].verdict == "better"
    assert {joint.verdict for joint in joint_family([pair, pair])} == {"undecided"}


def false_claims(tests, simulations: int) -> float:
    """How often any of three pairs is decided where they do not differ in the first measure.

    In the other one they surely do, so that the first decides: the worst case.
    """
    wrong = 0
    for _ in range(simulations):
        family = joint_family([(test, single(0.5, 0.0)) for test in tests()])
        wrong += any(pair.verdict != "undecided" for pair in family)
    return wrong / simulations


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_equal_methods_are_seldom_called_different_over_seeds(seeds: int) -> None:
    rng = np.random.default_rng(seeds)

    def tests() -> list[Comparison]:
        tasks = rng.normal(0, 0.1, 30)
        methods = (
            0.5 + tasks + rng.normal(0, 0.02, (3, seeds, 1)) + rng.normal(0, 0.05, (3, seeds, 30))
        )
        return [difference_over_seeds(a, b) for a, b in combinations(methods, 2)]

    assert false_claims(tests, 1000) <= 0.06


def test_equal_snapshots_are_seldom_called_different() -> None:
    rng = np.random.default_rng(0)

    def tests() -> list[Comparison]:
        return [compare(a, b) for a, b in combinations(rng.binomial(25, 0.6, (3, 100)) / 25, 2)]

    assert 0.02 <= false_claims(tests, 2000) <= 0.06
