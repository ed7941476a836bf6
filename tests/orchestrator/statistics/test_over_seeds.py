"""Two methods over seeds: against SciPy, and its false verdicts in worlds without a difference."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import compare_mixtures, family, paired_interval
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL
from fsl_sweep.orchestrator.statistics.over_seeds import (
    SeedPair,
    difference_over_seeds,
    seed_freedom,
)

TASKS = 30


def ends(comparison):
    return comparison.effect.low, comparison.effect.high


def drawn(rng, shape, seeds=1.0, rest=1.0):
    """Accuracies [worlds, S, T] of a method; rest and tasks are given in sd of a mean over T."""
    own = rng.normal(0, seeds, (*shape[:2], 1))
    return own + rng.normal(0, rest * math.sqrt(TASKS), shape)


def halves(a, b, level=0.05):
    """Half-widths [worlds] of a, b [worlds, S, T], written anew from the definition."""
    (sa, tasks), sb = a.shape[1:], b.shape[1]
    own = [x.mean(axis=2).var(axis=1, ddof=1) / x.shape[1] for x in (a, b)]

    def rest(x):
        left = (
            x - x.mean(1, keepdims=True) - x.mean(2, keepdims=True) + x.mean((1, 2), keepdims=True)
        )
        return (left**2).sum((1, 2)) / ((x.shape[1] - 1) * (tasks - 1)) / tasks / x.shape[1]

    plain = (a.mean(1) - b.mean(1)).var(axis=1, ddof=1) / tasks
    shared = np.maximum(0, plain - rest(a) - rest(b))
    total = own[0] + own[1]
    # Welch's degrees of freedom, had both as few seeds as the one with fewer.
    fewer = min(sa, sb) - 1
    welch = total**2 / (own[0] ** 2 / fewer + own[1] ** 2 / fewer)
    between = stats.t.ppf(1 - level / 2, fewer + 0.8 * (welch - fewer))
    over = stats.t.ppf(1 - level / 2, tasks - 1)
    return np.maximum(np.sqrt(between**2 * total + over**2 * shared), over * np.sqrt(plain))


CASES = {
    "seeds": (1.0, 1.0, 0.05, 0.05),
    "unequal seeds": (1.0, 0.35, 0.0, 0.05),
    "one quiet method": (1.0, 0.02, 0.0, 0.01),
    "tasks": (0.1, 0.1, 2.0, 0.1),
    "rest": (0.0, 0.0, 0.0, 1.0),
    "all alike": (1.0, 1.0, 1.0, 1.0),
    "unequal seeds and tasks": (1.0, 0.2, 0.5, 0.3),
}
"""Standard deviations of the mean of a seed of a, of b, by tasks of the difference, and rest."""


@pytest.mark.parametrize(
    ("seeds", "ratio", "rate"),
    [
        ((2, 2), 316, 6.0),
        ((3, 3), 56, 5.6),
        ((5, 5), 18, 5.2),
        ((2, 50), 316, 6.65),
        ((3, 50), 32, 5.8),
    ],
)
def test_the_worst_rates_of_false_verdicts_are_those_of_the_documentation(seeds, ratio, rate):
    """By quadrature over both variances, of which ``ratio`` is that of the true ones."""
    edges = np.linspace(0, 1, 401) ** 2
    edges = np.concatenate([edges / 2, 1 - edges[-2::-1] / 2])  # finer at both ends
    levels, weights = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    own = [stats.chi2.ppf(levels, n - 1) / (n - 1) for n in seeds]
    a, b = ratio * own[0][:, None], own[1][None, :]
    quantile = stats.t.ppf(0.975, seed_freedom(a, b, min(seeds) - 1))
    false = 2 * stats.norm.sf(quantile * np.sqrt((a + b) / (ratio + 1)))
    assert 100 * (weights @ false @ weights) == pytest.approx(rate, abs=0.05)


@pytest.mark.parametrize("seeds", [(2, 2), (3, 3), (5, 5), (2, 5), (3, 5), (5, 3)])
@pytest.mark.parametrize("case", CASES)
def test_no_difference_is_seldom_called_one(seeds, case) -> None:
    rng, worlds = np.random.default_rng(7), 4000
    first, second, tasks, rest = CASES[case]
    a = drawn(rng, (worlds, seeds[0], TASKS), first, rest)
    b = drawn(rng, (worlds, seeds[1], TASKS), second, rest)
    a += rng.normal(0, tasks * math.sqrt(TASKS), (worlds, 1, TASKS))
    effects, half = a.mean((1, 2)) - b.mean((1, 2)), halves(a, b)
    rate = (np.abs(effects) > half).mean()
    assert rate <= 0.06
    for world in range(5):
        got = difference_over_seeds(a[world], b[world])
        assert (got.effect.high - got.effect.low) / 2 == pytest.approx(half[world])
        assert (got.verdict != "undecided") == (abs(effects[world]) > half[world])
    # A test that never rejects is not an interval at a nominal 95 % where seeds are what varies.
    if case == "one quiet method" and seeds[0] <= seeds[1]:
        assert rate >= 0.035


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("spreads", [(1,) * 6, (1, 1, 1, 3, 3, 3), (1, 1.6, 2.5, 4, 6.3, 10)])
def test_a_family_of_six_equal_methods_is_seldom_told_apart(seeds, spreads) -> None:
    """Holm's first step rejects something just if a p value is below the 15th part of 5 %."""
    rng, worlds = np.random.default_rng(3), 1500
    common = rng.normal(0, math.sqrt(TASKS), (6, worlds, 1, TASKS)) * 0.3
    tables = [
        drawn(rng, (worlds, seeds, TASKS), sd, 0.3) + own
        for sd, own in zip(spreads, common, strict=True)
    ]
    means = [table.mean((1, 2)) for table in tables]
    false = np.zeros(worlds, bool)
    for i, j in combinations(range(6), 2):
        false |= np.abs(means[i] - means[j]) > halves(tables[i], tables[j], 0.05 / 15)
    assert false.mean() <= 0.06
    for world in [*np.flatnonzero(false)[:2], *np.flatnonzero(~false)[:2]]:
        pairs = combinations([table[world] for table in tables], 2)
        got = family([difference_over_seeds(a, b) for a, b in pairs])
        assert ({one.verdict for one in got} != {"undecided"}) == false[world]


def world_with_selection(rng, seeds, shared, methods=2, epochs=6, tasks=40, resamples=60):
    """Methods that differ in nothing, with the best of some snapshots chosen on selection tasks.

    Each seed has noise of its own on the selection tasks; all seeds of a method share what these
    tasks have for an epoch of this method, which no other method or task has.

    Returns:
        For each method, report accuracies of the choices [S, T], and of the choices on resampled
        tasks [S, 1 + R].
    """
    curve = rng.normal(0, 0.02, epochs)
    weights = rng.multinomial(tasks, np.full(tasks, 1 / tasks), (2, resamples)) / tasks
    weights = np.concatenate([np.full((2, 1, tasks), 1 / tasks), weights], axis=1)
    found = []
    for _ in range(methods):
        sd = np.sqrt(tasks) * np.array([shared, 0.01])
        own = rng.normal(0, 0.005, (seeds, 1, 1)) + curve[:, None]
        noise = (
            rng.normal(0, sd[0], (epochs, tasks)),
            rng.normal(0, sd[1], (2, seeds, epochs, tasks)),
        )
        selection = own + noise[0] + noise[1][0]
        report = own + noise[1][1]
        at = (selection @ weights[0].T).argmax(axis=1)  # [S, 1 + R]
        again = np.take_along_axis(report @ weights[1].T, at[:, None], axis=1)[:, 0]
        found.append((report[np.arange(seeds), at[:, 0]], again))
    return found


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize(
    ("methods", "shared", "worlds"), [(2, 0.0, 300), (2, 0.03, 300), (6, 0.03, 100)]
)
def test_the_selection_is_in_it(seeds, methods, shared, worlds) -> None:
    rng, false = np.random.default_rng(5), 0
    for _ in range(worlds):
        given = world_with_selection(rng, seeds, shared, methods)
        pairs = [
            difference_over_seeds(a, b, resampled=(again_a, again_b))
            for (a, again_a), (b, again_b) in combinations(given, 2)
        ]
        false += {one.verdict for one in family(pairs)} != {"undecided"}
    assert false / worlds <= 0.06


def test_selection_tasks_that_all_seeds_share_are_seen_only_in_resamples() -> None:
    rng, plain, with_selection = np.random.default_rng(5), 0, 0
    for _ in range(200):
        (a, again_a), (b, again_b) = world_with_selection(rng, 8, 0.03)
        plain += difference_over_seeds(a, b).verdict != "undecided"
        given = difference_over_seeds(a, b, resampled=(again_a, again_b))
        with_selection += given.verdict != "undecided"
    assert plain / 200 > 0.15
    assert with_selection / 200 <= 0.06


def test_without_noise_of_tasks_it_is_welchs_interval_with_fewer_degrees_of_freedom() -> None:
    rng = np.random.default_rng(1)
    for seeds in (2, 3, 6):
        a, b = rng.normal(0.6, 0.02, seeds), rng.normal(0.62, 0.01, seeds)
        got = difference_over_seeds(np.tile(a[:, None], 50), np.tile(b[:, None], 50), 0.9)
        welch: Any = stats.ttest_ind(a, b, equal_var=False)
        freedom = (seeds - 1) + 0.8 * (welch.df - (seeds - 1))
        error = (a.mean() - b.mean()) / welch.statistic
        low, high = stats.t.interval(0.9, freedom, a.mean() - b.mean(), error)
        assert ends(got) == pytest.approx((low, high))
        assert got.p_value == pytest.approx(2 * stats.t.sf(abs(welch.statistic), freedom), rel=1e-6)
        # If one method does not vary, it is Student's of the other.
        only = difference_over_seeds(np.tile(a[:, None], 50), np.full((seeds, 50), 0.6))
        expected: Any = stats.ttest_1samp(a, 0.6)
        assert only.p_value == pytest.approx(expected.pvalue, rel=1e-6)
        assert ends(only) == pytest.approx(tuple(np.array(expected.confidence_interval()) - 0.6))


def test_equal_spreads_have_four_fifths_of_what_pooling_adds_in_degrees_of_freedom() -> None:
    a = np.array([0.5, 0.52, 0.55])
    got = difference_over_seeds(np.tile(a[:, None], 9), np.tile(a[:, None] - 0.1, 9))
    pooled: Any = stats.ttest_ind(a, a - 0.1)
    assert got.p_value == pytest.approx(2 * stats.t.sf(pooled.statistic, 2 + 0.8 * 2), rel=1e-6)


@pytest.mark.parametrize("tasks", [20, 150])
def test_with_identical_seeds_it_is_the_paired_interval_over_tasks(tasks) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((2, tasks))
    got = difference_over_seeds(np.tile(a, (3, 1)), np.tile(b, (2, 1)))
    expected = paired_interval(a, b)
    assert ends(got) == pytest.approx((expected.low, expected.high))
    assert got.caution == IDENTICAL
    # And by a mixture, the paired interval of mixtures.
    first, second = (a[:9], b[:9]), (a[9:], b[9:])
    parts = [
        (w, np.tile(x, (3, 1)), np.tile(y, (3, 1))) for w, (x, y) in ((0.3, first), (0.7, second))
    ]
    mixed, expected = SeedPair(parts).comparison(), compare_mixtures(first, second, 0.3)
    assert ends(mixed) == pytest.approx(ends(expected))
    assert mixed.p_value == pytest.approx(expected.p_value, rel=1e-6)


@pytest.mark.parametrize("copies", [("a",), ("b",), ("a", "b")])
def test_copies_of_a_seed_decide_nothing(copies) -> None:
    rng = np.random.default_rng(3)
    own = {name: rng.normal(mean, 0.01, (3, 50)) for name, mean in (("a", 0.9), ("b", 0.1))}
    assert difference_over_seeds(**own).verdict == "better"
    got = difference_over_seeds(**own | {name: own[name][[0, 0, 0]] for name in copies})
    assert (got.verdict, got.caution) == ("undecided", IDENTICAL)


def test_a_mixture_of_one_distribution_with_itself_differs_by_no_seed() -> None:
    rng = np.random.default_rng(4)
    own = rng.normal(0.6, 0.03, (2, 4, 1)) * np.ones(40)
    whole = difference_over_seeds(own[0], own[1])
    halved = SeedPair([(0.5, own[0][:, :20], own[1][:, :20])] * 2).comparison()
    assert ends(halved) == pytest.approx(ends(whole))


def test_the_p_value_is_below_the_level_just_where_the_interval_is_beyond_the_rope() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        a, b = rng.normal(0.6, 0.02, (2, 3, 1)) + rng.normal(0, 0.02, (2, 3, 30))
        got = difference_over_seeds(a, b, 0.8, rope=0.01)
        assert (got.verdict in ("better", "worse")) == (got.p_value < 0.2)
        turned = difference_over_seeds(b, a, 0.8, rope=0.01)
        assert (turned.effect.mean, turned.effect.low) == pytest.approx(
            (-got.effect.mean, -got.effect.high)
        )
        if got.p_value < 1:
            at = difference_over_seeds(a, b, 1 - got.p_value, rope=0.01)
            assert min(abs(at.effect.low), abs(at.effect.high)) == pytest.approx(0.01, rel=1e-3)


def test_no_claim() -> None:
    one, two = np.full((1, 30), 0.9), np.full((2, 30), 0.1)
    got = difference_over_seeds(one, two + np.array([[0.0], [0.01]]))
    assert (got.verdict, got.seeds) == ("undecided", (1, 2))
    assert got.effect.mean == pytest.approx(0.795)
    assert math.isnan(got.effect.low)
    assert math.isnan(got.p_value)
    assert got.caution == "one seed: nothing is known of training again"
    # Means without tasks: what other tasks would change is not known.
    got = difference_over_seeds([[0.9], [0.9001]], [[0.1], [0.1001]])
    assert (got.verdict, got.p_value < 0.01) == ("undecided", True)
    assert "other tasks" in (got.caution or "")
    untested, tested = family([difference_over_seeds(one, two), got])
    assert math.isnan(untested.p_adjusted)
    assert tested.p_adjusted == got.p_value


def test_equivalent_and_equal() -> None:
    table = np.tile([[0.5], [0.501], [0.502]], 30)
    assert difference_over_seeds(table, table, rope=0.02).verdict == "equivalent"
    same = difference_over_seeds(np.full((2, 30), 0.5), np.full((2, 30), 0.5))
    assert (same.verdict, same.p_value) == ("undecided", 1.0)  # its seeds are copies


@pytest.mark.parametrize(
    ("a", "b", "options"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), {}),
        (np.zeros(3), np.zeros(3), {}),
        (np.full((2, 3), np.nan), np.zeros((2, 3)), {}),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"rope": -0.1}),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"confidence": 1.0}),
    ],
)
def test_wrong_input(a, b, options) -> None:
    with pytest.raises(ValueError, match=r"common tasks|Finite|equivalence|between 0 and 1"):
        difference_over_seeds(a, b, **options)
