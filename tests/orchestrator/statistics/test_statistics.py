"""Intervals, single tests, families, ranks: against SciPy, by hand, and where nothing differs."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import (
    compare,
    family,
    holm,
    holm_levels,
    kendall_tau,
    mean_interval,
    paired_interval,
)


@pytest.mark.parametrize("n", [2, 3, 99, 100, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_interval_is_students_below_100_and_normal_from_there(n: int, confidence: float) -> None:
    values = np.random.default_rng(n).random(n)
    law = stats.t(n - 1, values.mean(), stats.sem(values))
    if n >= 100:
        law = stats.norm(values.mean(), stats.sem(values))
    got = mean_interval(values, confidence)
    assert got.mean == values.mean()
    assert (got.low, got.high) == pytest.approx(law.interval(confidence), rel=1e-12)
    assert (got.n, got.confidence, got.kind) == (n, confidence, "closed")


def test_compare_against_scipy_and_by_sign() -> None:
    generator = np.random.default_rng(5)
    b = generator.random(60)
    a = b + 0.05 + generator.normal(0, 0.02, 60)
    got, oracle = compare(a, b), stats.ttest_rel(a, b)
    ends = oracle.confidence_interval(0.95)
    assert got.effect == paired_interval(a, b)
    assert (got.effect.low, got.effect.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert got.effect.mean == pytest.approx((a - b).mean())
    assert (got.effect.kind, got.verdict) == ("paired", "better")
    assert got.p_value == got.p_adjusted == pytest.approx(oracle.pvalue, rel=1e-9)
    # The other way round: as compared, and as it is turned.
    for other in (compare(b, a), got.swapped()):
        assert other.verdict == "worse"
        assert other.p_value == pytest.approx(got.p_value)
        assert (other.effect.mean, other.effect.low, other.effect.high) == pytest.approx(
            (-got.effect.mean, -got.effect.high, -got.effect.low)
        )


@pytest.mark.parametrize("rope", [0.0, 0.005])
@pytest.mark.parametrize("tasks", [40, 150])
def test_verdict_and_p_value_agree(tasks: int, rope: float) -> None:
    law = stats.t(39) if tasks == 40 else stats.norm
    for seed in range(30):
        d = np.random.default_rng(seed).normal(0.007, 0.03, tasks)
        got = compare(d, np.zeros(tasks), rope)
        expected = 2 * law.sf((abs(d.mean()) - rope) / stats.sem(d))
        assert got.p_value == pytest.approx(min(1, expected))
        assert (got.p_value < 0.05) == (got.verdict in ("better", "worse"))


def test_rope_equal_methods_and_a_single_task() -> None:
    d = np.random.default_rng(7).normal(0.0, 0.001, 100)
    d += 0.01 - d.mean()
    verdicts = [compare(d, np.zeros(100), rope=rope).verdict for rope in (0.02, 0.005, 0.01)]
    assert verdicts == ["equivalent", "better", "undecided"]
    same, shifted = compare([0.1, 0.2, 0.3], [0.1, 0.2, 0.3]), compare([0.5, 0.5], [0.25, 0.25])
    assert (same.verdict, same.p_value) == ("equivalent", 1.0)
    assert (shifted.verdict, shifted.p_value) == ("better", 0.0)
    single = compare([0.9], [0.1])
    assert (single.verdict, math.isnan(single.p_value)) == ("undecided", True)


@pytest.mark.parametrize("seed", range(5))
def test_holm_by_hand_and_by_the_closed_test_principle(seed: int) -> None:
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, then the running maximum.
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (holm([]).tolist(), holm([0.9, 0.8]).tolist()) == ([], [1.0, 1.0])
    # Holm is the closure of Bonferroni: a hypothesis' adjusted p is the largest Bonferroni p
    # over all families that contain it.
    p = np.random.default_rng(seed).random(6) ** 3
    families = [np.array(s) for n in range(1, 7) for s in itertools.combinations(range(6), n)]
    brute = [max(min(1.0, len(s) * min(p[s])) for s in families if i in s) for i in range(6)]
    assert holm(p).tolist() == pytest.approx(brute)
    for level in (0.05, 0.3, 0.9):
        assert ((p < holm_levels(p, level)) == (np.array(brute) < level)).all()
        assert (holm_levels(p, level) >= level / len(p)).all()


def made(effect: float, rope: float = 0.0):
    """200 differences of standard deviation 1 with this mean in standard errors, compared."""
    noise = np.random.default_rng(11).normal(0, 1, 200)
    values = (noise - noise.mean()) / noise.std(ddof=1) + effect / math.sqrt(200)
    return compare(values, np.zeros(200), rope), partial(paired_interval, values, np.zeros(200))


def test_a_family_withdraws_weak_verdicts() -> None:
    (weak, _), (strong, _), single = made(2.1), made(14.0), compare([0.9], [0.1])
    assert weak.verdict == "better"
    got = family([weak, strong, single, weak])
    assert [c.verdict for c in got] == ["undecided", "better", "undecided", "undecided"]
    assert got[0].p_adjusted == pytest.approx(2 * weak.p_value)
    assert got[1].p_adjusted == pytest.approx(3 * strong.p_value)
    assert (got[0].p_value, got[0].effect) == (weak.p_value, weak.effect)
    assert math.isnan(got[2].p_adjusted)
    assert family([]) == ()
    # Two more that could not be made count with a p of 1.
    assert family([strong], absent=2)[0].p_adjusted == pytest.approx(3 * strong.p_value)
    assert family([weak], absent=2)[0].verdict == "undecided"
    assert family([weak], level=0.01)[0].verdict == "undecided"


def test_intervals_of_a_family_are_at_the_level_of_their_test() -> None:
    tests = [made(2.1), made(2.1), made(3.5)]
    got = family([single for single, _ in tests], [interval for _, interval in tests])
    # Only the first of Holm's steps rejects: 5 % / 3, and 5 % / 2 for the others.
    assert [c.verdict for c in got] == ["undecided", "undecided", "better"]
    levels = [0.05 / 2, 0.05 / 2, 0.05 / 3]
    for corrected, level, (_, interval) in zip(got, levels, tests, strict=True):
        assert corrected.effect == interval(1 - level)
        assert (corrected.effect.low > 0) == (corrected.verdict == "better")
    # Equivalence is claimed of all together: 2 standard errors of 1.96 and not of 2.39.
    tests = [made(0.0, 2.2 / math.sqrt(200)), made(0.0, 2.5 / math.sqrt(200)), made(0.1)]
    got = family([single for single, _ in tests], [interval for _, interval in tests])
    assert [single.verdict for single, _ in tests[:2]] == ["equivalent", "equivalent"]
    assert [c.verdict for c in got] == ["undecided", "equivalent", "undecided"]
    assert [c.effect for c in got[:2]] == [tests[0][1](1 - 0.05 / 3)] * 2


def test_reasons_take_the_verdict() -> None:
    single, _ = made(3.0)
    assert single.undecided(None, None) is single
    got = single.undecided("first", None).undecided("second")
    assert (got.verdict, got.caution, got.effect) == ("undecided", "first; second", single.effect)


@pytest.mark.parametrize("seed", range(20))
def test_kendall_tau_against_scipy_with_ties(seed: int) -> None:
    a, b = np.random.default_rng(seed).integers(0, 8, (2, 25)) / 8
    assert kendall_tau(a, b).tau == pytest.approx(stats.kendalltau(a, b).statistic)
    last = kendall_tau(a, b, last=10)
    assert last.tau == pytest.approx(stats.kendalltau(a[-10:], b[-10:]).statistic)
    assert (last.n, last.last) == (10, 10)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("methods", [2, 4])
def test_where_snapshots_do_not_differ_few_families_have_a_verdict(
    methods: int, seeds: int
) -> None:
    """Tasks are harder for all or for one; the trained snapshots are equally good over tasks."""
    generator, simulations, false = np.random.default_rng(5), 600, 0
    for _ in range(simulations):
        tables = generator.normal(0.5, 0.1, (methods, seeds, 60)).mean(axis=1)
        tables = tables + generator.normal(0, 0.1, 60)
        got = family([compare(a, b) for a, b in itertools.combinations(tables, 2)])
        false += any(c.verdict in ("better", "worse") for c in got)
    assert 0 < false / simulations <= 0.06
