import itertools

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics.intervals import Interval, paired_interval
from fsl_sweep.orchestrator.statistics.sampling.novel_sets import (
    conclusion_stability,
    frequency,
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "3 times in 2"),
        ((-1, 2), "-1 times"),
        ((0, 0), "in 0"),
        ((1, 2, 1.2), "confidence"),
        ((1, 2, 0.95, "wald"), "'wald'"),
    ],
)
def test_impossible_frequencies_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        frequency(*arguments)


def known(mean, half=0.0):
    return Interval(mean, mean - half, mean + half, 100, 0.95, "paired", None)


def around(means, tasks=40, step=0.1):
    """Accuracies ``[S, T]`` with these means, half of them a step above and half below."""
    offsets = np.tile([step, -step], tasks // 2)
    return np.asarray(means)[:, None] + offsets


@pytest.mark.parametrize("sign", [1, -1])
def test_flips_and_exaggerations_are_those_of_every_set_listed(sign):
    """All 20 sets of 3 of 6 classes, whose differences are the means of their classes'."""
    classes = sign * np.array([-0.04, -0.01, 0.0, 0.02, 0.03, 0.06])
    means = np.array([np.mean(one) for one in itertools.combinations(classes, 3)])
    b = around(np.full(20, 0.5))
    found = conclusion_stability(known(classes.mean()), b + means[:, None], b, delta=0.01)
    lead = [round(sign * mean, 12) for mean in means]
    assert found.flips.count == sum(one < 0 for one in lead) == 5
    assert found.exaggerations.count == sum(one > 0.02 for one in lead) == 5
    assert found.differences == pytest.approx(means)
    assert found.cdf(0.0) == np.mean(np.round(means, 12) <= 0)
    assert found.clear_flips.count == found.flips.count  # the pairs have no noise
    assert found.noise == pytest.approx(0, abs=1e-12)
    assert found.caution == "only 20 sets"


def test_a_flip_is_clear_by_the_paired_interval_or_where_the_two_do_not_overlap():
    rng = np.random.default_rng(0)
    a, noise = 0.6 + 0.1 * rng.standard_normal((40, 50)), 0.02 * rng.standard_normal((40, 50))
    b = a + noise + np.linspace(-0.07, 0.1, 40)[:, None]
    paired = conclusion_stability(known(0.01), a, b)
    apart = conclusion_stability(known(0.01), a, b, paired=False)
    zero, overlap = 0, 0
    for first, second in zip(a, b, strict=True):
        ends = paired_interval(first, second)
        zero += ends.low <= 0 <= ends.high
        one, other = (stats.t(49, x.mean(), stats.sem(x)).interval(0.95) for x in (first, second))
        overlap += one[0] <= other[1] and other[0] <= one[1]
    assert (paired.unclear.count, apart.unclear.count) == (zero, overlap)
    assert 0 < zero < overlap < 40
    assert paired.flips == apart.flips
    assert 0 < apart.clear_flips.count < paired.clear_flips.count < paired.flips.count
    assert apart.noise > 3 * paired.noise


def test_cautions_name_what_spoils_the_figures():
    b = around(np.full(40, 0.5))
    a = b + np.linspace(-0.1, 0.1, 40)[:, None]
    assert conclusion_stability(known(0.01, 0.005), a, b).caution is None
    assert "order is not known" in (conclusion_stability(known(0.01, 0.02), a, b).caution or "")
    noisy = a + np.random.default_rng(0).normal(0, 1, a.shape)
    assert "few tasks" in (conclusion_stability(known(0.01), noisy, b).caution or "")
    every = conclusion_stability(known(0.01, 0.02), noisy[:10], b[:10]).caution or ""
    assert all(part in every for part in ("order is not known", "only 10 sets", "few tasks"))


TABLE = np.full((3, 4), 0.5)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ((known(0.1), TABLE[:1], TABLE[:1]), {}, "2 sets"),
        ((known(0.1), TABLE[:, :1], TABLE[:, :1]), {}, "2 tasks"),
        ((known(0.1), TABLE, TABLE[:2]), {}, "Shapes differ"),
        ((known(0.1), TABLE, np.where(np.eye(3, 4), np.nan, TABLE)), {}, "3 of the accuracies"),
        ((known(0.0), TABLE, TABLE), {}, "no order"),
        ((known(0.1), TABLE, TABLE), {"delta": -0.1}, "-0.1"),
        ((known(0.1), TABLE, TABLE), {"method": "wald"}, "'wald'"),
    ],
)
def test_what_says_nothing_about_conclusions_is_refused(given, options, message):
    with pytest.raises(ValueError, match=message):
        conclusion_stability(*given, **options)
