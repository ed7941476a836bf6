"""Main effects against brute force."""

from itertools import permutations, product

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.main_effects import main_effect


def test_the_share_is_that_of_a_functional_anova() -> None:
    """Against the definition by brute force, f_j(x_j) = E[y | x_j] - E[y], with three axes."""
    response = np.random.default_rng(0).normal(size=(2, 3, 4))
    points = list(product(*map(range, response.shape)))
    for axis, size in enumerate(response.shape):
        others = tuple({0, 1, 2} - {axis})
        effects = response.mean(axis=others) - response.mean()
        effect = main_effect([response[p] for p in points], [point[axis] for point in points])
        assert effect is not None
        assert effect.share == pytest.approx(sum(effects**2) / size / response.var())


def test_additive_shares_add_up_and_interactions_have_none() -> None:
    points = list(product((0, 1), (0, 1)))
    for values, expected in (
        ([3 * a + b for a, b in points], [0.9, 0.1]),
        ([float(a == b) for a, b in points], [0, 0]),
    ):
        effects = [main_effect(values, [p[axis] for p in points]) for axis in (0, 1)]
        assert [effect.share for effect in effects if effect] == pytest.approx(expected)


@pytest.mark.parametrize("levels", ["aabbcc", "aaabbb"])
def test_by_chance_is_the_mean_over_all_orders(levels: str) -> None:
    values = [0.1, 0.5, 0.2, 0.9, 0.7, 0.4]
    effects = [e for order in permutations(values) if (e := main_effect(order, levels))]
    assert len(effects) == 720
    assert np.mean([effect.share for effect in effects]) == pytest.approx(effects[0].by_chance)


def test_there_is_none_where_it_would_say_nothing() -> None:
    assert main_effect([0.1, 0.2], "ab") is None  # each level once: it would explain all
    assert main_effect([0.1, 0.2], "aa") is None
    assert main_effect([0.3, 0.3, 0.3, 0.3], "aabb") is None
    assert main_effect([0.1, 0.2, 0.3], "aab") is None
