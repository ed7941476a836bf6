"""Sets of classes and of examples: shares against SciPy, flips by counting, known spreads."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import (
    Interval,
    conclusion_stability,
    example_set_variance,
    frequency,
    novel_set_variance,
    paired_interval,
)


@pytest.mark.parametrize(("method", "name"), [("wilson", "wilson"), ("clopper-pearson", "exact")])
@pytest.mark.parametrize("n", [1, 7, 100])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_a_frequencys_interval_is_scipys(method, name, n, confidence):
    for count in {0, 1, n // 3, n}:
        expected = stats.binomtest(count, n).proportion_ci(confidence, name)
        got = frequency(count, n, confidence, method)
        assert (got.low, got.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert got.share == count / n


def known(mean, half=0.0):
    return Interval(mean, mean - half, mean + half, 100, 0.95, "paired", None)


def around(means, tasks=40, step=0.1):
    """Accuracies ``[S, T]`` with these means, half of them a step above and half below."""
    return np.asarray(means)[:, None] + np.tile([step, -step], tasks // 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_flips_and_exaggerations_are_those_of_every_set_listed(sign):
    """All 20 sets of 3 of 6 classes, whose differences are the means of their classes'."""
    classes = sign * np.array([-0.05, -0.01, 0.0, 0.02, 0.03, 0.06])  # two sets tie
    means = np.array([np.mean(drawn) for drawn in itertools.combinations(classes, 3)])
    b = around(np.full(20, 0.5))
    got = conclusion_stability(known(classes.mean()), b + means[:, None], b, delta=0.01)
    lead = np.round(sign * means, 12)
    assert got.flips.count == sum(lead < 0) == 5
    assert got.exaggerations.count == sum(lead > abs(classes.mean()) + 0.01) == 5
    assert got.differences == pytest.approx(means)
    assert got.cdf(0.0) == np.mean(np.round(means, 12) <= 0)
    assert got.clear_flips.count == got.flips.count  # the pairs have no noise
    assert got.noise == pytest.approx(0, abs=1e-12)
    assert got.caution == "only 20 sets"


def test_a_flip_is_clear_by_the_paired_interval_or_where_the_two_do_not_overlap():
    rng = np.random.default_rng(0)
    a, noise = 0.6 + 0.1 * rng.standard_normal((40, 50)), 0.02 * rng.standard_normal((40, 50))
    b = a + noise + np.linspace(-0.07, 0.1, 40)[:, None]
    paired = conclusion_stability(known(0.01), a, b)
    apart = conclusion_stability(known(0.01), a, b, paired=False)
    zero, overlap = 0, 0
    for pair in zip(a, b, strict=True):
        ends = paired_interval(*pair)
        zero += ends.low <= 0 <= ends.high
        first, second = (stats.t(49, x.mean(), stats.sem(x)).interval(0.95) for x in pair)
        overlap += first[0] <= second[1] and second[0] <= first[1]
    assert (paired.unclear.count, apart.unclear.count) == (zero, overlap)
    assert 0 < zero < overlap < 40
    assert paired.flips == apart.flips
    assert 0 < apart.clear_flips.count < paired.clear_flips.count < paired.flips.count
    assert apart.noise > 3 * paired.noise


def test_against_scipy_without_noise_of_tasks_and_with_noise_only() -> None:
    means = np.random.default_rng(0).random(50)
    got = novel_set_variance(np.repeat(means[:, None], 4, axis=1), 0.9)
    sums = 49 * means.var(ddof=1)
    ends = [math.sqrt(sums / stats.chi2(49).ppf(p)) for p in (0.95, 0.05)]
    assert (got.low, got.high) == pytest.approx(ends, rel=1e-12)
    assert got.observed == got.deviation == pytest.approx(np.std(means, ddof=1), rel=1e-12)
    assert (got.means.tolist(), got.caution) == (pytest.approx(means.tolist()), None)


def drawn_sets(rng: np.random.Generator, sets: int, tasks: int) -> np.ndarray:
    """20 of 100 classes a set, of which a task's accuracy is the mean over 5."""
    classes = np.linspace(0.2, 0.8, 100)
    drawn = [rng.choice(100, 20, replace=False) for _ in range(sets)]
    tasks_of = [[rng.choice(novel, 5, replace=False) for _ in range(tasks)] for novel in drawn]
    return classes[np.array(tasks_of)].mean(axis=2)


def test_the_noise_of_tasks_is_taken_off() -> None:
    got = novel_set_variance(drawn_sets(np.random.default_rng(1), 400, 20))
    # Means of 20 of 100 classes, drawn without replacement.
    truth = np.linspace(0.2, 0.8, 100).std(ddof=1) * math.sqrt(1 / 20 - 1 / 100)
    assert got.low < truth < got.high
    assert got.deviation == pytest.approx(truth, rel=0.12)
    assert got.observed > 1.03 * truth


def test_coverage_by_simulation() -> None:
    rng, hits = np.random.default_rng(2), 0
    for _ in range(2000):
        table = rng.normal(0.6, 0.02, (40, 1)) + rng.normal(0, 0.1, (40, 400))
        got = example_set_variance(table)
        hits += got.low <= 0.02 <= got.high
    assert 0.93 <= hits / 2000 <= 0.97
