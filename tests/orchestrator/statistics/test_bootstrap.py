import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
from scipy import stats

from fsl_sweep.orchestrator.statistics import mean_interval, selection_bootstrap
from fsl_sweep.orchestrator.statistics.resampling import Resampling, seed_weights
from fsl_sweep.orchestrator.statistics.ties import comparable, weighted_means


def best_val(_: int, means: Mapping[str, np.ndarray]) -> np.ndarray:
    return means["val"].argmax(axis=1)


def made(seed: int, seeds: int = 3, snapshots: int = 4, tasks: int = 15):
    """Accuracies on selection tasks and on report tasks, and the choices' means on these."""
    generator = np.random.default_rng(seed)
    level = generator.normal(0.5, 0.05, (seeds, snapshots, 1))
    val, report = (
        np.clip(level + generator.normal(0, 0.1, (seeds, snapshots, tasks)), 0, 1) for _ in range(2)
    )
    plain = report[np.arange(seeds), val.mean(axis=2).argmax(axis=1)].mean(axis=1)
    return [{"val": table} for table in val], list(report), plain


def test_weighted_means_are_means_of_repeated_tasks_in_any_order_of_adding() -> None:
    generator = np.random.default_rng(0)
    table = generator.integers(0, 76, (6, 30)) / 75
    weights = generator.multinomial(30, np.full(30, 1 / 30), 20).astype(float)
    expected = [np.repeat(table, w.astype(int), axis=1).mean(axis=1) for w in weights]
    got = weighted_means(table, weights)
    assert got == pytest.approx(np.array(expected), abs=1e-10)
    for order in (slice(None, None, -1), generator.permutation(30)):
        assert (weighted_means(table[:, order], weights[:, order]) == got).all()
    # 1/75 + 2/75 + 0 against 3/75: equal, though floating-point sums in this order are not.
    table = np.array([[1 / 75, 2 / 75, 0.3], [3 / 75, 0.0, 0.3], [np.nan, 0.5, 0.5]])
    means = comparable(weighted_means(table, np.array([[1.0, 1.0, 1.0], [7.0, 7.0, 3.0]])))
    assert (means[:, 0] == means[:, 1]).all()
    assert np.isnan(means).tolist() == [[False, False, True]] * 2


def test_a_resample_repeats_the_selection_by_brute_force() -> None:
    selection, report, plain = made(2)
    got = selection_bootstrap(best_val, selection, report, resamples=50, seed=4, confidence=0.8)
    draws = Resampling(50, 4)
    val = draws.weights(("val", "selection"), 15).astype(int)
    novel = draws.weights(("novel", "report"), 15).astype(int)
    values, changed = [], 0
    for r in range(1, 51):
        by_seed = []
        for tables, measured in zip(selection, report, strict=True):
            means = [np.repeat(row, val[r]).mean() for row in tables["val"]]
            choice = means.index(max(means))
            changed += choice != int(tables["val"].mean(axis=1).argmax())
            by_seed.append(np.repeat(measured[choice], novel[r]).mean())
        values.append(np.mean(by_seed))
    low, high = np.quantile(values, [0.1, 0.9]) - np.mean(plain)
    error = np.std(plain, ddof=1) / math.sqrt(3)
    seeds = stats.t.ppf(0.9, 2) * error
    assert low < 0 < high
    assert got.low == pytest.approx(np.mean(plain) - math.hypot(low, seeds))
    assert got.high == pytest.approx(np.mean(plain) + math.hypot(high, seeds))
    assert got.standard_error == pytest.approx(math.hypot(np.std(values, ddof=1), error))
    assert 0 < got.changed < 1
    assert (got.changed, got.mean) == pytest.approx((changed / 150, np.mean(plain)))
    assert (got.n, got.resamples, got.over) == (3, 50, "tasks")


def test_distribution_against_enumeration() -> None:
    """One seed, three selection and two report tasks: all 27 x 4 resamples, counted."""
    val = np.array([[0.2, 0.9, 0.4], [0.5, 0.3, 0.6]])
    report = np.array([[0.1, 0.3], [0.7, 0.8]])
    outcomes = [
        report[int(val[:, drawn].mean(axis=1).argmax()), list(again)].mean()
        for drawn in itertools.product(range(3), repeat=3)
        for again in itertools.product(range(2), repeat=2)
    ]
    got = selection_bootstrap(best_val, [{"val": val}], [report], resamples=20_000, seed=1)
    # Known from 20,000 resamples to about 0.5 %.
    assert got.standard_error == pytest.approx(np.std(outcomes), rel=0.02)
    assert (got.low, got.high) == pytest.approx((min(outcomes), max(outcomes)), abs=1e-9)


@pytest.mark.parametrize("seeds", [1, 2, 3, 6])
def test_it_holds_the_mean_and_the_plain_interval_over_seeds(seeds: int) -> None:
    for i in range(20):
        selection, report, plain = made(i, seeds)
        got = selection_bootstrap(best_val, selection, report, resamples=40)
        assert got.low <= got.mean <= got.high
        if seeds > 1:
            interval = mean_interval(plain, kind="seeds")
            assert got.low < interval.low < interval.high < got.high


def test_seed_weights() -> None:
    weights = seed_weights(500, 3, 0, "PN")
    assert weights.sum(axis=1) == pytest.approx(np.ones(500))
    assert set(np.unique(weights)) == {0.0, 0.5, 1.0}
    assert (seed_weights(500, 3, 0, "PN") == weights).all()
    assert (seed_weights(500, 3, 0, "RR") != weights).any()
    assert (seed_weights(5, 1, 0, "") == 1).all()


def test_two_seeds_are_covered() -> None:
    """What few seeds do to an interval: drawing one of two covers 88 %, and 95 % is meant."""
    generator, simulations, inside = np.random.default_rng(0), 500, 0
    for i in range(simulations):
        tables = generator.normal(0.6, 0.02, (2, 1, 1)) + generator.normal(0, 0.02, (2, 1, 30))
        selection = [{"val": t} for t in tables]
        got = selection_bootstrap(best_val, selection, list(tables), resamples=60, seed=i)
        inside += got.low <= 0.6 <= got.high
    # The binomial's standard deviation is 0.01.
    assert 0.93 <= inside / simulations <= 0.985, inside


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "most"), [(3, 0.995), (8, 0.97)])
def test_coverage_by_simulation(seeds: int, most: float) -> None:
    """The interval holds what the strategy gives on new seeds and tasks about as often as it says.

    The truth is the mean over many simulations of what the strategy attains on endless tasks.
    """
    generator, simulations, attained = np.random.default_rng(0), 300, []
    intervals = []
    for _ in range(simulations):
        level = generator.normal(0.6, 0.03, (seeds, 5))
        # Selection tasks see the snapshots' levels through noise, so that choices differ.
        hard, noise = generator.normal(0, 0.1, (2, 60)), generator.normal(0, 0.1, (2, seeds, 5, 60))
        val, report = np.clip(level[:, :, None] + hard[:, None, None] + noise, 0, 1)
        attained.append(level[np.arange(seeds), val.mean(axis=2).argmax(axis=1)].mean())
        selection = [{"val": table} for table in val]
        intervals.append(
            selection_bootstrap(best_val, selection, list(report), resamples=100, confidence=0.9)
        )
    inside = sum(got.low <= np.mean(attained) <= got.high for got in intervals)
    # The binomial's standard deviation is 0.017. Few seeds err on the safe side: their spread
    # holds some of the selection's noise already, which resampled tasks add again.
    assert 0.85 <= inside / simulations <= most, inside
