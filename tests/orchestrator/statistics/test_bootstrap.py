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
    generator = np.random.default_rng(seed)
    level = generator.normal(0.5, 0.05, (seeds, snapshots, 1))
    val, report = (
        np.clip(level + generator.normal(0, 0.1, (seeds, snapshots, tasks)), 0, 1) for _ in range(2)
    )
    return [{"val": table} for table in val], list(report)


def test_weighted_means_are_means_of_repeated_tasks() -> None:
    generator = np.random.default_rng(0)
    table = generator.integers(0, 76, (6, 30)) / 75
    weights = generator.multinomial(30, np.full(30, 1 / 30), 20).astype(float)
    expected = [np.repeat(table, w.astype(int), axis=1).mean(axis=1) for w in weights]
    assert weighted_means(table, weights) == pytest.approx(np.array(expected), abs=1e-10)


def test_weighted_means_tie_where_the_tasks_tie_and_keep_nan_to_its_row() -> None:
    # 1/75 + 2/75 + 0 against 3/75: equal, though floating-point sums in this order are not.
    table = np.array([[1 / 75, 2 / 75, 0.3], [3 / 75, 0.0, 0.3], [np.nan, 0.5, 0.5]])
    means = comparable(weighted_means(table, np.array([[1.0, 1.0, 1.0], [7.0, 7.0, 3.0]])))
    assert (means[:, 0] == means[:, 1]).all()
    assert np.isnan(means[:, 2]).all()
    assert np.isfinite(means[:, :2]).all()


@pytest.mark.parametrize("order", [slice(None, None, -1), [4, 0, 3, 1, 2]])
def test_weighted_means_do_not_depend_on_the_order_of_adding(order) -> None:
    generator = np.random.default_rng(1)
    table, weights = generator.random((3, 5)), generator.integers(1, 4, (8, 5)).astype(float)
    assert (
        weighted_means(table, weights) == weighted_means(table[:, order], weights[:, order])
    ).all()


def test_a_resample_repeats_the_selection_by_brute_force() -> None:
    selection, report = made(2)
    got = selection_bootstrap(best_val, selection, report, resamples=50, seed=4, confidence=0.8)
    draws = Resampling(50, 4)
    val = draws.weights(("val", "selection"), 15).astype(int)
    novel = draws.weights(("novel", "report"), 15).astype(int)
    values, changed = [], 0
    for r in range(1, 51):
        of_seeds = []
        for tables, measured in zip(selection, report, strict=True):
            means = [np.repeat(row, val[r]).mean() for row in tables["val"]]
            choice = means.index(max(means))
            changed += choice != int(tables["val"].mean(axis=1).argmax())
            of_seeds.append(np.repeat(measured[choice], novel[r]).mean())
        values.append(np.mean(of_seeds))
    plain = [
        m[t["val"].mean(axis=1).argmax()].mean() for t, m in zip(selection, report, strict=True)
    ]
    low, high = np.quantile(values, [0.1, 0.9]) - np.mean(plain)
    error = np.std(plain, ddof=1) / math.sqrt(3)
    seeds = stats.t.ppf(0.9, 2) * error
    assert low < 0 < high
    assert got.low == pytest.approx(np.mean(plain) - math.hypot(low, seeds))
    assert got.high == pytest.approx(np.mean(plain) + math.hypot(high, seeds))
    assert got.standard_error == pytest.approx(math.hypot(np.std(values, ddof=1), error))
    assert got.changed == pytest.approx(changed / 150)
    assert 0 < got.changed < 1
    assert got.mean == pytest.approx(np.mean(plain))
    assert (got.n, got.resamples, got.over) == (3, 50, "tasks")


def test_distribution_against_enumeration() -> None:
    """One seed, three selection and two report tasks: all 27 x 4 resamples, counted."""
    val = np.array([[0.2, 0.9, 0.4], [0.5, 0.3, 0.6]])
    report = np.array([[0.1, 0.3], [0.7, 0.8]])
    outcomes = []
    for drawn in itertools.product(range(3), repeat=3):
        choice = int(val[:, drawn].mean(axis=1).argmax())
        outcomes += [
            report[choice, again].mean()
            for again in map(list, itertools.product(range(2), repeat=2))
        ]
    got = selection_bootstrap(best_val, [{"val": val}], [report], resamples=20_000, seed=1)
    # Known from 20,000 resamples to about 0.5 %.
    assert got.standard_error == pytest.approx(np.std(outcomes), rel=0.02)
    assert (got.low, got.high) == pytest.approx((min(outcomes), max(outcomes)), abs=1e-9)


@pytest.mark.parametrize("seeds", [1, 2, 3, 6])
def test_it_holds_the_mean_and_the_plain_interval_over_seeds(seeds: int) -> None:
    for world in range(20):
        selection, report = made(world, seeds)
        got = selection_bootstrap(best_val, selection, report, resamples=40)
        assert got.low <= got.mean <= got.high
        chosen = [
            m[t["val"].mean(axis=1).argmax()].mean() for t, m in zip(selection, report, strict=True)
        ]
        if seeds > 1:
            plain = mean_interval(chosen, kind="seeds")
            assert got.low < plain.low
            assert got.high > plain.high


def test_seed_weights() -> None:
    weights = seed_weights(500, 3, 0, "PN")
    assert weights.sum(axis=1) == pytest.approx(np.ones(500))
    assert set(np.unique(weights)) == {0.0, 0.5, 1.0}
    assert (seed_weights(500, 3, 0, "PN") == weights).all()
    assert (seed_weights(500, 3, 0, "RR") != weights).any()
    assert (seed_weights(5, 1, 0, "") == 1).all()


def test_cautions() -> None:
    selection, report = made(4, seeds=1)
    assert "one seed" in (selection_bootstrap(best_val, selection, report).caution or "")
    selection, report = made(4, seeds=5)
    assert selection_bootstrap(best_val, selection, report).caution is None
    report[0][:] = np.nan
    got = selection_bootstrap(best_val, selection, report)
    assert got.caution == "in 1000 of 1000 resamples nothing could be chosen"
    assert math.isnan(got.low)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resamples": 1}, "2 or more resamples"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"classes": {("val", "selection"): np.zeros(15)}}, "ways"),
    ],
)
def test_arguments_out_of_range(changes: dict, message: str) -> None:
    selection, report = made(4)
    with pytest.raises(ValueError, match=message):
        selection_bootstrap(best_val, selection, report, **changes)
    with pytest.raises(ValueError, match="Tables are"):
        weighted_means(np.zeros((2, 3)), np.ones((4, 5)))


def test_two_seeds_are_covered() -> None:
    """What few seeds do to an interval: drawing one of two covers 88 %, and 95 % is meant."""
    generator = np.random.default_rng(0)
    worlds, inside = 500, 0
    for world in range(worlds):
        tables = generator.normal(0.6, 0.02, (2, 1, 1)) + generator.normal(0, 0.02, (2, 1, 30))
        got = selection_bootstrap(
            best_val, [{"val": t} for t in tables], list(tables), resamples=60, seed=world
        )
        inside += got.low <= 0.6 <= got.high
    # The binomial's standard deviation is 0.01.
    assert 0.93 <= inside / worlds <= 0.985, inside


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "most"), [(3, 0.995), (8, 0.97)])
def test_coverage_by_simulation(seeds: int, most: float) -> None:
    """The interval holds what the strategy gives on new seeds and tasks about as often as it says.

    The truth is the mean over many worlds of what the strategy attains on endless report tasks.
    """
    generator = np.random.default_rng(0)
    snapshots, tasks, worlds = 5, 60, 300

    def world() -> tuple[list, list, float]:
        level = generator.normal(0.6, 0.03, (seeds, snapshots))
        # Selection tasks see the snapshots' levels through noise, so that choices differ.
        hardness = generator.normal(0, 0.1, (2, tasks))
        val, report = (
            np.clip(
                level[:, :, None] + h + generator.normal(0, 0.1, (seeds, snapshots, tasks)), 0, 1
            )
            for h in hardness
        )
        chosen = val.mean(axis=2).argmax(axis=1)
        return (
            [{"val": t} for t in val],
            list(report),
            float(level[np.arange(seeds), chosen].mean()),
        )

    made_ = [world() for _ in range(worlds)]
    truth = np.mean([attained for _, _, attained in made_])
    inside = 0
    for selection, report, _ in made_:
        got = selection_bootstrap(best_val, selection, report, resamples=100, confidence=0.9)
        inside += got.low <= truth <= got.high
    # The binomial's standard deviation is 0.017. Few seeds err on the safe side: their spread
    # holds some of the selection's noise already, which resampled tasks add again.
    assert 0.85 <= inside / worlds <= most, inside
