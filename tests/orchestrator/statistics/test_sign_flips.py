"""P values of all pairs by sign flips: by counting, against SciPy, and where nothing differs."""

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS, pairwise_p_values


def test_one_pair_against_scipy() -> None:
    generator = np.random.default_rng(1)
    for rows in (1, 2, 6, 9, 16):
        values = generator.normal(0, 1, (rows, 2))
        alone, together = pairwise_p_values(values)
        if rows > 1:
            expected = stats.permutation_test(
                (values[:, 0], values[:, 1]),
                lambda a, b: abs(np.mean(a - b)),
                permutation_type="samples",
                alternative="greater",
                n_resamples=np.inf,
            ).pvalue
            assert alone[0, 1] == pytest.approx(expected)
        # A single pair needs no correction.
        assert together[0, 1] == alone[0, 1] == alone[1, 0]
        assert alone[0, 0] == alone[1, 1] == 1


def test_all_pairs_against_counting_with_student_s_t() -> None:
    values = np.random.default_rng(2).normal(0, 1, (7, 4)) + np.array([0, 0.2, 1.5, 3])
    pairs = list(combinations(range(4), 2))
    apart = np.array([values[:, a] - values[:, b] for a, b in pairs])  # [pairs, rows]
    flips = product((1, -1), repeat=7)
    t = np.array([np.abs(stats.ttest_1samp(apart * f, 0, axis=1).statistic) for f in flips])
    alone, together = pairwise_p_values(values)
    for number, (a, b) in enumerate(pairs):
        here = t[0, number] - 1e-9
        assert alone[a, b] == np.mean(t[:, number] >= here)
        assert together[a, b] == together[b, a] == np.mean(t.max(axis=1) >= here)
    assert together.min() < 0.05 < together[0, 1]


def test_few_rows_equal_columns_and_many_rows() -> None:
    clear = np.arange(20.0).reshape(2, 10).T + np.random.default_rng(3).normal(0, 0.01, (10, 2))
    # Fewer rows than the least decide nothing.
    assert pairwise_p_values(clear[: LEAST_ROWS - 1])[0][0, 1] == 2 / 2 ** (LEAST_ROWS - 1) > 0.05
    assert pairwise_p_values(clear[:LEAST_ROWS])[0][0, 1] == 2 / 2**LEAST_ROWS < 0.05
    alone, together = pairwise_p_values(np.tile([0.1, 0.1, 0.2], (6, 1)))
    assert (alone[0, 1], together[0, 1]) == (1, 1)
    assert alone[0, 2] == together[0, 2] == 1 / 32
    assert [p.tolist() for p in pairwise_p_values([[0.3], [0.4]])] == [[[1]], [[1]]]
    # Of many rows flips are drawn, the same each time.
    values = np.random.default_rng(4).normal(0, 1, (40, 3)) + np.array([0, 0, 2])
    drawn, again = pairwise_p_values(values), pairwise_p_values(values)
    assert np.array_equal(drawn, again)
    assert drawn[1][0, 2] == 1 / 10_000
    assert drawn[1][0, 1] > 0.05


def normal(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.normal(0, 1, shape)


def skewed(generator: np.random.Generator, *shape: int) -> np.ndarray:
    return generator.exponential(1, shape)


def shared(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Strategies that often choose one of two snapshots, in whole steps."""
    snapshots = np.round(generator.normal(0, 2, (shape[0], 2)))
    return np.take_along_axis(snapshots, generator.integers(0, 2, shape), axis=1)


@pytest.mark.parametrize("drawn", [normal, skewed, shared])
@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize(("methods", "strategies"), [(6, 12), (8, 5)])
def test_where_nothing_differs_few_families_have_any_verdict(
    drawn: Callable[..., np.ndarray], seeds: int, methods: int, strategies: int
) -> None:
    """Strategies are equally good over all methods that there could be, not within each.

    The true rates are 1 to 5 %; 500 simulations measure them to 1 point.
    """
    generator, simulations, false = np.random.default_rng(7), 500, 0
    for _ in range(simulations):
        trained = generator.normal(0, 1, (seeds, methods, strategies)).mean(axis=0)
        values = drawn(generator, methods, strategies) + trained
        least = values.mean(axis=0).argmin()
        false += bool((pairwise_p_values(values)[1][least] < 0.05).any())
    assert 0 < false / simulations <= 0.06
