import itertools
import math

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

GENERATOR = np.random.default_rng(0)


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


def test_one_value_has_no_interval() -> None:
    got = mean_interval([0.7])
    assert (got.mean, got.caution) == (0.7, "one task alone has no interval")
    assert math.isnan(got.low)
    assert math.isnan(got.high)


@pytest.mark.parametrize("values", [[], [0.1, float("nan")], [[0.1, 0.2]], [float("inf"), 1.0]])
def test_values_without_interval_are_refused(values: list) -> None:
    with pytest.raises(ValueError, match=r"values|needed"):
        mean_interval(values)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval([0.1, 0.2], confidence)


def test_cautions() -> None:
    few, many = np.linspace(0.3, 0.5, 10), np.linspace(0.3, 0.5, 200)
    assert "10 tasks" in (mean_interval(few).caution or "")
    assert mean_interval(many).caution is None
    assert "3 seeds" in (mean_interval([0.1, 0.2, 0.3], kind="seeds").caution or "")
    assert "saturated" in (mean_interval(np.append(np.ones(300), 0.9)).caution or "")
    assert "same value" in (mean_interval(np.full(200, 0.5)).caution or "")


def test_paired_interval_is_that_of_the_differences() -> None:
    a, b = GENERATOR.random((2, 50))
    got = paired_interval(a, b)
    oracle = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (got.low, got.high) == pytest.approx((oracle.low, oracle.high), rel=1e-9)
    assert got.kind == "paired"
    with pytest.raises(ValueError, match="common tasks"):
        paired_interval(a, b[:-1])


def test_compare_against_scipy_and_by_sign() -> None:
    generator = np.random.default_rng(5)
    shared = generator.random(60)
    a, b = shared + 0.05 + generator.normal(0, 0.02, 60), shared
    got = compare(a, b)
    assert got.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)
    assert got.verdict == "better"
    assert compare(b, a).verdict == "worse"
    assert compare(b, a).p_value == pytest.approx(got.p_value)
    assert got.effect.mean == pytest.approx((a - b).mean())


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


def test_rope() -> None:
    d = np.random.default_rng(7).normal(0.0, 0.001, 100)
    d += 0.01 - d.mean()
    assert compare(d, np.zeros(100), rope=0.02).verdict == "equivalent"
    assert compare(d, np.zeros(100), rope=0.005).verdict == "better"
    assert compare(d, np.zeros(100), rope=0.01).verdict == "undecided"
    with pytest.raises(ValueError, match="cannot be"):
        compare(d, d, rope=-0.1)


def test_equal_methods_are_equivalent_and_one_task_is_undecided() -> None:
    same = compare([0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
    assert (same.verdict, same.p_value) == ("equivalent", 1.0)
    one = compare([0.9], [0.1])
    assert one.verdict == "undecided"
    assert math.isnan(one.p_value)
    shifted = compare([0.5, 0.5], [0.25, 0.25])
    assert (shifted.verdict, shifted.p_value) == ("better", 0.0)


def test_holm_by_hand() -> None:
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, then the running maximum.
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).tolist() == []
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="p values"):
        holm([0.5, float("nan")])


@pytest.mark.parametrize("seed", range(5))
def test_holm_by_the_closed_test_principle(seed: int) -> None:
    # Holm is the closure of Bonferroni: a hypothesis' adjusted p is the largest Bonferroni p
    # over all families that contain it.
    p = np.random.default_rng(seed).random(6) ** 3
    brute = [
        max(
            min(1.0, len(several) * min(p[list(several)]))
            for size in range(1, 7)
            for several in itertools.combinations(range(6), size)
            if i in several
        )
        for i in range(6)
    ]
    assert holm(p).tolist() == pytest.approx(brute)
    for level in (0.05, 0.3, 0.9):
        assert ((p < holm_levels(p, level)) == (np.array(brute) < level)).all()
        assert (holm_levels(p, level) >= level / len(p)).all()


def test_family_correction_withdraws_weak_verdicts() -> None:
    generator = np.random.default_rng(11)
    noise = generator.normal(0, 1, 200)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    weak = compare(noise + 2.1 / math.sqrt(200), np.zeros(200))
    strong = compare(noise + 1.0, np.zeros(200))
    alone = compare([0.9], [0.1])
    assert weak.verdict == "better"
    got = family([weak, strong, alone, weak])
    assert [one.verdict for one in got] == ["undecided", "better", "undecided", "undecided"]
    assert got[0].p_adjusted == pytest.approx(2 * weak.p_value)
    assert got[1].p_adjusted == pytest.approx(3 * strong.p_value)
    assert got[0].p_value == weak.p_value
    assert family([]) == ()


@pytest.mark.parametrize("seed", range(20))
def test_kendall_tau_against_scipy_with_ties(seed: int) -> None:
    a, b = np.random.default_rng(seed).integers(0, 8, (2, 25)) / 8
    assert kendall_tau(a, b).tau == pytest.approx(stats.kendalltau(a, b).statistic)
    last = kendall_tau(a, b, last=10)
    assert last.tau == pytest.approx(stats.kendalltau(a[-10:], b[-10:]).statistic)
    assert (last.n, last.last) == (10, 10)


def test_kendall_tau_where_there_is_no_ranking() -> None:
    flat = kendall_tau([0.5, 0.5, 0.5], [0.1, 0.2, 0.3])
    assert math.isnan(flat.tau)
    assert flat.caution is not None
    assert math.isnan(kendall_tau([0.5], [0.5]).tau)
    with pytest.raises(ValueError, match="cannot be compared"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="2 or more"):
        kendall_tau([1, 2], [1, 2], last=1)
    assert kendall_tau([1, 2, 3], [1, 2, 3], last=50).n == 3


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("methods", [2, 4])
def test_where_snapshots_do_not_differ_few_families_have_a_verdict(
    methods: int, seeds: int
) -> None:
    """Tasks are harder for all or for one; the trained snapshots are equally good over tasks."""
    generator, worlds, false = np.random.default_rng(5), 600, 0
    for _ in range(worlds):
        own = generator.normal(0.5, 0.1, (methods, seeds, 60)).mean(axis=1)
        tables = own + generator.normal(0, 0.1, 60)
        found = family([compare(a, b) for a, b in itertools.combinations(tables, 2)])
        false += any(one.verdict in ("better", "worse") for one in found)
    assert 0 < false / worlds <= 0.06
