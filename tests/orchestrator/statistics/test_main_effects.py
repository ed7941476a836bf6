"""Main effects against brute force."""

from itertools import permutations, product

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.main_effects import main_effect


def test_the_share_is_that_of_a_functional_anova() -> None:
    """Against the definition by brute force, f_j(x_j) = E[y | x_j] - E[y], with three axes."""
    sizes = (2, 3, 4)
    rng = np.random.default_rng(0)
    response = rng.normal(size=sizes)
    points = list(product(*map(range, sizes)))
    values = [response[point] for point in points]
    total = sum((value - response.mean()) ** 2 for value in values) / len(values)
    for axis, size in enumerate(sizes):
        others = tuple(other for other in range(3) if other != axis)
        effects = response.mean(axis=others) - response.mean()
        found = main_effect(values, [point[axis] for point in points])
        assert found is not None
        assert found.share == pytest.approx(sum(effects**2) / size / total)


def test_additive_shares_add_up_and_interactions_have_none() -> None:
    points = list(product((0, 1), (0, 1)))
    additive = [3 * a + b for a, b in points]
    shares = [main_effect(additive, [p[axis] for p in points]) for axis in (0, 1)]
    assert [one.share for one in shares if one] == pytest.approx([0.9, 0.1])
    crossed = [float(a == b) for a, b in points]
    found = main_effect(crossed, [a for a, _ in points])
    assert found is not None
    assert found.share == 0


@pytest.mark.parametrize("levels", ["aabbcc", "aaabbb"])
def test_by_chance_is_the_mean_over_all_orders(levels: str) -> None:
    values = [0.1, 0.5, 0.2, 0.9, 0.7, 0.4]
    found = [one for order in permutations(values) if (one := main_effect(order, levels))]
    assert len(found) == 720
    assert np.mean([one.share for one in found]) == pytest.approx(found[0].by_chance)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([0.1, 0.2], "ab"),  # each level once: it would explain all
        ([0.1, 0.2], "aa"),
        ([0.3, 0.3, 0.3, 0.3], "aabb"),
        ([0.1, 0.2, 0.3], "aab"),
    ],
)
def test_there_is_none_where_it_would_say_nothing(values: list[float], levels: str) -> None:
    assert main_effect(values, levels) is None


def test_levels_belong_to_values() -> None:
    with pytest.raises(ValueError, match="shorter"):
        main_effect([0.1, 0.2], "a")
