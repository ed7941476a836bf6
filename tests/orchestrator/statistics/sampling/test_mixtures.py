"""P_BN(lambda): crossings against a search, gaps against SciPy and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import mixture_interval
from fsl_sweep.orchestrator.statistics.sampling.mixtures import crossings, mixture_gap

TEN = [i / 10 for i in range(11)]


@pytest.mark.parametrize("seed", range(20))
def test_crossings_are_those_of_a_search(seed: int) -> None:
    effects = np.random.default_rng(seed).normal(0, 0.02, 11)
    dense = np.linspace(0, 1, 100_001)
    signs = np.sign(np.interp(dense, TEN, effects))
    expected = dense[1:][signs[1:] * signs[:-1] < 0]
    found = crossings(TEN, effects)
    assert len(found) == np.count_nonzero(np.diff(np.sign(effects)))
    assert [x for x in found if round(x, 4) != round(x, 1)] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([0.1, 0.0, -0.1], [0.5]),
        ([0.1, 0.0, 0.1], []),
        ([0.0, 0.0, 0.0], []),
        ([0.3, 0.1, -0.1], [0.75]),
        ([0.1, 1e-12, 0.1], []),
    ],
)
def test_ties(effects: list[float], expected: list[float]) -> None:
    assert crossings([0, 0.5, 1], effects) == pytest.approx(expected)


def samples(rng, *counts: int) -> list[np.ndarray]:
    return [rng.binomial(25, p, n) / 25 for p, n in zip((0.7, 0.8, 0.6), counts, strict=True)]


def test_at_the_ends_it_is_the_interval_of_two_samples() -> None:
    mixed, base, novel = samples(np.random.default_rng(1), 20, 15, 12)
    for weight, other in ((0, base), (1, novel)):
        found = mixture_gap(mixed, base, novel, weight, 0.9)
        expected = stats.ttest_ind(mixed, other, equal_var=False).confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_between_the_ends() -> None:
    """Three variances add up; the linear part is the mixture that is reported elsewhere."""
    mixed, base, novel = samples(np.random.default_rng(2), 400, 300, 200)
    found = mixture_gap(mixed, base, novel, 0.3)
    linear = mixture_interval(base, novel, 0.7)
    assert found.mean == pytest.approx(mixed.mean() - linear.mean, abs=1e-12)
    errors = stats.sem(mixed), (linear.high - linear.low) / 2 / stats.norm.ppf(0.975)
    half = stats.norm.ppf(0.975) * math.hypot(*errors)
    assert (found.high - found.low) / 2 == pytest.approx(half, abs=1e-12)
    assert found.n == 900


def test_the_interval_covers() -> None:
    rng, worlds = np.random.default_rng(3), 2000
    true = 0.7 - (0.6 * 0.8 + 0.4 * 0.6)
    found = [mixture_gap(*samples(rng, 60, 40, 20), 0.4) for _ in range(worlds)]
    assert 0.93 <= np.mean([one.low <= true <= one.high for one in found]) <= 0.97


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: mixture_gap([0.5, 0.6], [0.5, 0.4], [0.5, 0.1], 1.2), "Lambda lies between 0"),
        (lambda: mixture_gap([0.5, math.nan], [0.5], [0.5], 0.5), "1 of the values are not finite"),
        (lambda: mixture_gap([], [0.5], [0.5], 0.5), "One or more values"),
        (lambda: mixture_gap([0.5], [0.5], [0.5], 0.5, 1.2), "confidence must lie between"),
        (lambda: crossings([0, 1], [0.1]), "2 lambdas have 1 differences"),
        (lambda: crossings([0, 1.1], [0.1, 0.2]), "Lambdas ascend between 0 and 1"),
        (lambda: crossings([0.5, 0.5], [0.1, 0.2]), "Lambdas ascend between 0 and 1"),
        (lambda: crossings([0, 1], [0.1, math.nan]), "not finite"),
    ],
)
def test_mistakes(call, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        call()


def test_one_task_has_no_interval() -> None:
    found = mixture_gap([0.5], [0.5, 0.6], [0.5, 0.7], 0.5)
    assert math.isnan(found.low)
    assert found.caution == "one task alone has no interval"
