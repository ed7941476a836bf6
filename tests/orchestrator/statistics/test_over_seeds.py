"""Two methods over seeds: against SciPy, and its false verdicts where nothing differs."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import compare_mixtures, family, paired_interval
from fsl_sweep.orchestrator.statistics.intervals import IDENTICAL
from fsl_sweep.orchestrator.statistics.moderation import DRAWS_NOTHING, SeedVariance, moderated
from fsl_sweep.orchestrator.statistics.over_seeds import (
    ONE_TEST_SET,
    SeedPair,
    difference_over_seeds,
    seed_freedom,
)

TASKS = 30


def ends(comparison):
    return comparison.effect.low, comparison.effect.high


def tiled(means, tasks=50):
    """Accuracies [S, T] of seeds that have one accuracy on all tasks."""
    return np.tile(np.asarray(means)[:, None], tasks)


def decides(comparisons):
    return any(c.verdict != "undecided" for c in family(list(comparisons)))


def drawn(rng, shape, seeds=1.0, rest=1.0):
    """Accuracies [n, S, T] of a method; sd of seeds, and of the rest of a mean over T."""
    return rng.normal(0, seeds, (*shape[:2], 1)) + rng.normal(0, rest * math.sqrt(TASKS), shape)


def halves(a, b, level=0.05):
    """Half-widths [n] of a, b [n, S, T], written anew from the definition."""
    tasks, fewer = a.shape[2], min(a.shape[1], b.shape[1]) - 1

    def rest(x):
        left = x - x.mean(1, keepdims=True) - x.mean(2, keepdims=True)
        left += x.mean((1, 2), keepdims=True)
        return (left**2).sum((1, 2)) / ((x.shape[1] - 1) * (tasks - 1)) / tasks / x.shape[1]

    plain = (a.mean(1) - b.mean(1)).var(axis=1, ddof=1) / tasks
    shared = np.maximum(0, plain - rest(a) - rest(b))
    first, second = (x.mean(axis=2).var(axis=1, ddof=1) / x.shape[1] for x in (a, b))
    # Welch's degrees of freedom, had both as few seeds as the one with fewer.
    welch = (first + second) ** 2 / (first**2 / fewer + second**2 / fewer)
    between = stats.t.ppf(1 - level / 2, fewer + 0.8 * (welch - fewer))
    over = stats.t.ppf(1 - level / 2, tasks - 1)
    together = np.sqrt(between**2 * (first + second) + over**2 * shared)
    return np.maximum(together, over * np.sqrt(plain))


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
    first, second = (stats.chi2.ppf(levels, n - 1) / (n - 1) for n in seeds)
    a, b = ratio * first[:, None], second[None, :]
    quantile = stats.t.ppf(0.975, seed_freedom(a, b, min(seeds) - 1))
    false = 2 * stats.norm.sf(quantile * np.sqrt((a + b) / (ratio + 1)))
    assert 100 * (weights @ false @ weights) == pytest.approx(rate, abs=0.05)


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


@pytest.mark.parametrize("seeds", [(2, 2), (3, 3), (5, 5), (2, 5), (3, 5), (5, 3)])
@pytest.mark.parametrize("case", CASES)
def test_no_difference_is_seldom_called_one(seeds, case) -> None:
    rng, simulations = np.random.default_rng(7), 4000
    first, second, tasks, rest = CASES[case]
    a = drawn(rng, (simulations, seeds[0], TASKS), first, rest)
    b = drawn(rng, (simulations, seeds[1], TASKS), second, rest)
    a += rng.normal(0, tasks * math.sqrt(TASKS), (simulations, 1, TASKS))
    effects, half = a.mean((1, 2)) - b.mean((1, 2)), halves(a, b)
    rate = (np.abs(effects) > half).mean()
    assert rate <= 0.06
    for i in range(5):
        got = difference_over_seeds(a[i], b[i])
        assert (got.effect.high - got.effect.low) / 2 == pytest.approx(half[i])
        assert (got.verdict != "undecided") == (abs(effects[i]) > half[i])
    # A test that never rejects is not an interval at a nominal 95 % where seeds are what varies.
    if case == "one quiet method" and seeds[0] <= seeds[1]:
        assert rate >= 0.035


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("spreads", [(1,) * 6, (1, 1, 1, 3, 3, 3), (1, 1.6, 2.5, 4, 6.3, 10)])
def test_a_family_of_six_equal_methods_is_seldom_told_apart(seeds, spreads) -> None:
    """Holm's first step rejects something just if a p value is below the 15th part of 5 %."""
    rng, simulations = np.random.default_rng(3), 1500
    common = rng.normal(0, math.sqrt(TASKS), (6, simulations, 1, TASKS)) * 0.3
    tables = [
        drawn(rng, (simulations, seeds, TASKS), sd, 0.3) + tasks
        for sd, tasks in zip(spreads, common, strict=True)
    ]
    false = np.zeros(simulations, bool)
    for a, b in combinations(tables, 2):
        false |= np.abs(a.mean((1, 2)) - b.mean((1, 2))) > halves(a, b, 0.05 / 15)
    assert false.mean() <= 0.06
    for i in [*np.flatnonzero(false)[:2], *np.flatnonzero(~false)[:2]]:
        pairs = combinations([table[i] for table in tables], 2)
        assert decides(difference_over_seeds(a, b) for a, b in pairs) == false[i]


def with_selection(rng, seeds, shared, methods=2, epochs=6, tasks=40, resamples=60):
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
    choices = []
    for _ in range(methods):
        sd = np.sqrt(tasks) * np.array([shared, 0.01])
        level = rng.normal(0, 0.005, (seeds, 1, 1)) + curve[:, None]
        common = rng.normal(0, sd[0], (epochs, tasks))
        noise = rng.normal(0, sd[1], (2, seeds, epochs, tasks))
        selection, report = level + common + noise[0], level + noise[1]
        at = (selection @ weights[0].T).argmax(axis=1)  # [S, 1 + R]
        again = np.take_along_axis(report @ weights[1].T, at[:, None], axis=1)[:, 0]
        choices.append((report[np.arange(seeds), at[:, 0]], again))
    return choices


def over_selection(choices):
    """Every pair of methods, with the selection repeated."""
    for (a, again_a), (b, again_b) in combinations(choices, 2):
        yield difference_over_seeds(a, b, resampled=(again_a, again_b))


@pytest.mark.parametrize(
    ("methods", "shared", "simulations"), [(2, 0.0, 300), (2, 0.03, 300), (6, 0.03, 100)]
)
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_selection_is_in_it(seeds, methods, shared, simulations) -> None:
    rng = np.random.default_rng(5)
    every = (with_selection(rng, seeds, shared, methods) for _ in range(simulations))
    assert sum(decides(over_selection(choices)) for choices in every) / simulations <= 0.06


def test_selection_tasks_that_all_seeds_share_are_seen_only_in_resamples() -> None:
    rng = np.random.default_rng(5)
    every = [with_selection(rng, 8, 0.03) for _ in range(200)]
    once = [decides([difference_over_seeds(a, b)]) for (a, _), (b, _) in every]
    assert np.mean(once) > 0.15
    assert np.mean([decides(over_selection(choices)) for choices in every]) <= 0.06


@pytest.mark.parametrize("seeds", [2, 3, 6])
def test_without_noise_of_tasks_it_is_welchs_interval_with_fewer_degrees_of_freedom(seeds) -> None:
    rng = np.random.default_rng(seeds)
    a, b = rng.normal(0.6, 0.02, seeds), rng.normal(0.62, 0.01, seeds)
    got = difference_over_seeds(tiled(a), tiled(b), 0.9)
    welch: Any = stats.ttest_ind(a, b, equal_var=False)
    freedom = (seeds - 1) + 0.8 * (welch.df - (seeds - 1))
    error = (a.mean() - b.mean()) / welch.statistic
    law = stats.t.interval(0.9, freedom, a.mean() - b.mean(), error)
    assert ends(got) == pytest.approx(law)
    assert got.p_value == pytest.approx(2 * stats.t.sf(abs(welch.statistic), freedom), rel=1e-6)
    assert (got.confidence, got.effect.confidence, got.seeds) == (0.9, 0.9, (seeds, seeds))
    # If one method does not vary, it is Student's of the other.
    only = difference_over_seeds(tiled(a), np.full((seeds, 50), 0.6))
    expected: Any = stats.ttest_1samp(a, 0.6)
    assert only.p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert ends(only) == pytest.approx(tuple(np.array(expected.confidence_interval()) - 0.6))
    # With equal spreads, four fifths of what pooling adds in degrees of freedom.
    pooled: Any = stats.ttest_ind(a, a - 0.1)
    p = 2 * stats.t.sf(pooled.statistic, 1.8 * (seeds - 1))
    assert difference_over_seeds(tiled(a), tiled(a - 0.1)).p_value == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("tasks", [20, 150])
def test_with_identical_seeds_it_is_the_paired_interval_over_tasks(tasks) -> None:
    a, b = np.random.default_rng(2).random((2, tasks))
    got = difference_over_seeds(np.tile(a, (3, 1)), np.tile(b, (2, 1)))
    expected = paired_interval(a, b)
    assert ends(got) == pytest.approx((expected.low, expected.high))
    assert got.caution == IDENTICAL
    # And by a mixture, the paired interval of mixtures.
    first, second = (a[:9], b[:9]), (a[9:], b[9:])
    parts = [
        (w, np.tile(x, (3, 1)), np.tile(y, (3, 1))) for w, (x, y) in ((0.3, first), (0.7, second))
    ]
    mixed, mixture = SeedPair(parts).comparison(), compare_mixtures(first, second, 0.3)
    assert ends(mixed) == pytest.approx(ends(mixture))
    assert mixed.p_value == pytest.approx(mixture.p_value, rel=1e-6)


def test_copies_of_a_seed_decide_nothing_and_halves_of_a_mixture_are_the_same() -> None:
    a, b = np.random.default_rng(3).normal([[[0.9]], [[0.1]]], 0.01, (2, 3, 50))
    assert difference_over_seeds(a, b).verdict == "better"
    for pair in ((a[[0, 0, 0]], b), (a, b[[0, 0, 0]]), (a[[0, 0, 0]], b[[0, 0, 0]])):
        got = difference_over_seeds(*pair)
        assert (got.verdict, got.caution) == ("undecided", IDENTICAL)
    a, b = np.random.default_rng(4).normal(0.6, 0.03, (2, 4, 1)) * np.ones(40)
    halved = SeedPair([(0.5, a[:, :20], b[:, :20])] * 2).comparison()
    assert ends(halved) == pytest.approx(ends(difference_over_seeds(a, b)))


def test_the_p_value_is_below_the_level_just_where_the_interval_is_beyond_the_rope() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        a, b = rng.normal(0.6, 0.02, (2, 3, 1)) + rng.normal(0, 0.02, (2, 3, 30))
        got = difference_over_seeds(a, b, 0.8, rope=0.01)
        assert (got.verdict in ("better", "worse")) == (got.p_value < 0.2)
        turned = difference_over_seeds(b, a, 0.8, rope=0.01).swapped()
        assert (turned.verdict, turned.effect.mean) == (got.verdict, got.effect.mean)
        assert ends(turned) == pytest.approx(ends(got))
        if got.p_value < 1:
            at = difference_over_seeds(a, b, 1 - got.p_value, rope=0.01)
            assert min(map(abs, ends(at))) == pytest.approx(0.01, rel=1e-3)


def test_no_claim() -> None:
    single, two = np.full((1, 30), 0.9), tiled([0.1, 0.11], 30)
    got = difference_over_seeds(single, two)
    assert (got.verdict, got.seeds) == ("undecided", (1, 2))
    assert got.effect.mean == pytest.approx(0.795)
    assert all(map(math.isnan, (*ends(got), got.p_value)))
    assert got.caution == "one seed: nothing is known of training again"
    # Means without tasks hold for their tasks.
    means = difference_over_seeds([[0.9], [0.9001]], [[0.1], [0.1001]])
    assert (means.verdict, means.p_value < 0.01) == ("better", True)
    assert means.caution == ONE_TEST_SET
    untested, tested = family([got, means])
    assert math.isnan(untested.p_adjusted)
    assert tested.p_adjusted == means.p_value
    # Equivalent, and undecided where the seeds are copies.
    table = tiled([0.5, 0.501, 0.502], 30)
    assert difference_over_seeds(table, table, rope=0.02).verdict == "equivalent"
    same = difference_over_seeds(np.full((2, 30), 0.5), np.full((2, 30), 0.5))
    assert (same.verdict, same.p_value) == ("undecided", 1.0)


def test_methods_that_draw_nothing_are_compared_over_tasks() -> None:
    """Of both the paired interval; of one the other's own degrees of freedom, not fewer."""
    rng = np.random.default_rng(8)
    a, b = rng.normal(0.7, 0.1, (2, 1, 200))
    both = SeedPair([(1.0, a, b)], between=(DRAWS_NOTHING, DRAWS_NOTHING)).comparison()
    paired = paired_interval(a[0], b[0])
    assert ends(both) == pytest.approx((paired.low, paired.high))
    assert (both.effect.kind, both.effect.n, both.seeds) == ("paired", 200, (1, 1))
    seeds = tiled([0.6, 0.62, 0.63, 0.65])
    of_b = SeedVariance(float(np.var([0.6, 0.62, 0.63, 0.65], ddof=1)), 3)
    fixed = SeedPair([(1.0, np.full((1, 50), 0.7), seeds)], between=(DRAWS_NOTHING, of_b))
    expected: Any = stats.ttest_1samp([0.6, 0.62, 0.63, 0.65], 0.7)
    assert fixed.comparison().p_value == pytest.approx(expected.pvalue, rel=1e-6)
    assert (fixed.comparison().effect.n, fixed.comparison().verdict) == (4, "better")
    # Two numbers of which nothing varies decide nothing.
    numbers = SeedPair([(1.0, [[0.9]], [[0.1]])], between=(DRAWS_NOTHING, DRAWS_NOTHING))
    assert numbers.comparison().verdict == "undecided"


def test_the_selection_of_a_method_that_draws_nothing_is_in_its_interval() -> None:
    """Where the two differ in nothing, and all that a choice varies by is the selection tasks."""
    rng, fixed, wrong = np.random.default_rng(9), (DRAWS_NOTHING, DRAWS_NOTHING), []
    for _ in range(300):
        (a, again), (b, again_b) = with_selection(rng, 1, 0.03)
        pair = [(1.0, a, b)]
        tests = [SeedPair(pair, r, fixed) for r in ((again, again_b), None)]
        wrong.append([test.comparison().verdict != "undecided" for test in tests])
    with_it, without = np.mean(wrong, axis=0)
    assert with_it <= 0.06 < 0.15 < without


def false_and_found(methods, seeds, spread, fixed=0, simulations=1500):
    """How often a family of equal methods is told apart, and how many pairs 4 sd apart are found.

    By the moderated t and by that of each pair alone; ``fixed`` of the methods draw nothing.
    """
    rng = np.random.default_rng(10)
    if spread == "one":
        sd = np.r_[4, np.ones(methods - 1)] * np.ones((simulations, 1))
    else:
        sd = np.exp(rng.normal(0, spread, (simulations, methods)))
    values = rng.normal(0, 1, (simulations, methods, seeds)) * sd[..., None]
    values[:, :fixed] = 0
    means, own = values.mean(2), values.var(2, ddof=1)
    known = [[DRAWS_NOTHING if v == 0 else SeedVariance(v, seeds - 1) for v in row] for row in own]
    lent = [moderated(row) for row in known]
    a, b = np.transpose([*combinations(range(methods), 2)])
    varying = b >= fixed
    a, b = a[varying], b[varying]

    def p_values(rows, shift):
        value, freedom = (np.array([[v[i] for v in row] for row in rows]) for i in (0, 1))
        first, second = value[:, a] / seeds, value[:, b] / seeds
        nu = np.minimum(freedom[:, a], freedom[:, b])
        if rows is known:
            nu = nu * (1 + 0.8 * ((first + second) ** 2 / (first**2 + second**2) - 1))
        difference = means[:, a] - means[:, b] - shift
        return 2 * stats.t.sf(abs(difference) / np.sqrt(first + second), nu)

    rates = [(p_values(rows, 0).min(1) < 0.05 / len(a)).mean() for rows in (lent, known)]
    last = b == methods - 1
    found = [(p_values(rows, 4)[:, last] < 0.05 / len(a)).mean() for rows in (lent, known)]
    for i in range(3):
        tables = [tiled(row) for row in values[i]]
        pairs = [
            SeedPair([(1.0, tables[j], tables[k])], None, (lent[i][j], lent[i][k]))
            for j, k in zip(a, b, strict=True)
        ]
        assert [pair.comparison().p_value for pair in pairs] == pytest.approx(
            p_values(lent, 0)[i], rel=1e-6
        )
    return rates, found


@pytest.mark.parametrize(
    ("methods", "seeds", "spread", "fixed", "gain"),
    [
        (2, 2, 0.0, 1, 0),
        (2, 3, 0.0, 1, 0),
        (2, 5, 0.0, 1, 0),
        (3, 2, 0.0, 0, 0.15),
        (9, 2, 0.0, 0, 0.15),
        (9, 2, 0.5, 0, 0.1),
        (9, 2, 1.0, 0, 0.05),
        (6, 2, 0.5, 2, 0.1),
        (3, 3, 0.0, 0, 0.15),
        (3, 3, 1.0, 0, 0.05),
        (3, 3, "one", 0, 0.02),
        (6, 3, 0.5, 0, 0.25),
        (9, 3, 0.5, 1, 0.2),
        (9, 5, 0.5, 0, 0.05),
    ],
)
def test_lent_variances_find_more_and_seldom_call_equals_different(
    methods, seeds, spread, fixed, gain
) -> None:
    rates, found = false_and_found(methods, seeds, spread, fixed)
    assert rates[0] <= (0.07 if spread in (1.0, "one") else 0.06)
    assert found[0] - found[1] >= gain
