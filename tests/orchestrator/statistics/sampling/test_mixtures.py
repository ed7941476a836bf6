"""P_BN(lambda): crossings against a search, gaps against SciPy and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import mixture_interval
from fsl_sweep.orchestrator.statistics.sampling.mixtures import crossings, mixture_gap


@pytest.mark.parametrize("seed", range(20))
def test_crossings_are_those_of_a_search(seed: int) -> None:
    ten, dense = np.linspace(0, 1, 11), np.linspace(0, 1, 100_001)
    effects = np.random.default_rng(seed).normal(0, 0.02, 11)
    signs = np.sign(np.interp(dense, ten, effects))
    expected = dense[1:][signs[1:] * signs[:-1] < 0]
    where = crossings(ten.tolist(), effects.tolist())
    assert len(where) == np.count_nonzero(np.diff(np.sign(effects)))
    assert [x for x in where if round(x, 4) != round(x, 1)] == pytest.approx(expected, abs=2e-5)


def test_crossings_at_and_beside_ties() -> None:
    assert crossings([0, 0.5, 1], [0.1, 0.0, -0.1]) == (0.5,)
    assert crossings([0, 0.5, 1], [0.3, 0.1, -0.1]) == (0.75,)
    for touching in ([0.1, 0.0, 0.1], [0.0, 0.0, 0.0], [0.1, 1e-12, 0.1]):
        assert crossings([0, 0.5, 1], touching) == ()


def samples(rng, *counts: int) -> list[np.ndarray]:
    return [rng.binomial(25, p, n) / 25 for p, n in zip((0.7, 0.8, 0.6), counts, strict=True)]


def test_at_the_ends_and_between_them() -> None:
    mixed, base, novel = samples(np.random.default_rng(1), 20, 15, 12)
    for weight, other in ((0, base), (1, novel)):
        got = mixture_gap(mixed, base, novel, weight, 0.9)
        expected = stats.ttest_ind(mixed, other, equal_var=False).confidence_interval(0.9)
        assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    # Between, three variances add up; the linear part is the mixture that is reported elsewhere.
    mixed, base, novel = samples(np.random.default_rng(2), 400, 300, 200)
    got, linear = mixture_gap(mixed, base, novel, 0.3), mixture_interval(base, novel, 0.7)
    assert got.mean == pytest.approx(mixed.mean() - linear.mean, abs=1e-12)
    z = stats.norm.ppf(0.975)
    half = z * math.hypot(stats.sem(mixed), (linear.high - linear.low) / 2 / z)
    assert (got.high - got.low) / 2 == pytest.approx(half, abs=1e-12)
    assert got.n == 900
    single = mixture_gap([0.5], [0.5, 0.6], [0.5, 0.7], 0.5)
    assert (math.isnan(single.low), single.caution) == (True, "one task alone has no interval")


def test_the_interval_covers() -> None:
    rng, true = np.random.default_rng(3), 0.7 - (0.6 * 0.8 + 0.4 * 0.6)
    gaps = [mixture_gap(*samples(rng, 60, 40, 20), 0.4) for _ in range(2000)]
    assert 0.93 <= np.mean([gap.low <= true <= gap.high for gap in gaps]) <= 0.97
