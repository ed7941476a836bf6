"""Rules of early stopping, against definitions written out."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from fsl_sweep.orchestrator.records.scheduler import Scheduler
from fsl_sweep.orchestrator.selection.stopping.rules import rule

RNG = np.random.default_rng(0)


def drawn(configurations=9, seeds=4, epochs=5):
    better = np.linspace(0, 0.03, configurations)[RNG.permutation(configurations)]
    return 0.5 + better[:, None, None] + RNG.normal(0, 0.01, (configurations, seeds, epochs))


def best(means, count):
    """Places of the best, ties to the first."""
    return set(sorted(range(len(means)), key=lambda place: (-means[place], place))[:count])


def going(ruling):
    return set(np.flatnonzero(ruling.goes_on).tolist())


@pytest.mark.parametrize("factor", [2, 3, 5])
@pytest.mark.parametrize("finalists", [1, 2, 6])
def test_halving_lets_the_best_part_go_on(factor, finalists):
    scheduler = Scheduler(name="halving", factor=factor, finalists=finalists)
    for configurations in range(1, 12):
        scores = np.round(drawn(configurations), 2)  # with ties
        means = np.round(scores[:, :, -1].mean(axis=1), 12)
        count = max(finalists, int(np.ceil(configurations / factor)))
        ruling = rule(scheduler, scores)
        assert going(ruling) == best(means, count)
        assert sorted(ruling.ranks) == [*range(1, configurations + 1)]
        assert ruling.cut == min(means[place] for place in best(means, count))


def test_the_median_rule_compares_the_best_so_far_with_running_averages():
    stopped = 0
    for _ in range(30):
        scores = drawn()
        curves = scores.mean(axis=1)
        averages = sorted(curve.mean() for curve in curves)
        expected = {place for place, curve in enumerate(curves) if max(curve) >= averages[4]}
        ruling = rule(Scheduler(name="median", finalists=2), scores)
        assert going(ruling) == expected | best(curves[:, -1], 2)
        stopped += 9 - len(going(ruling))
    assert stopped


def test_a_race_stops_what_is_significantly_below_the_best():
    stopped = 0
    for _ in range(30):
        scores = drawn()[:, :, -1]
        means = scores.mean(axis=1)
        (first,) = best(means, 1)
        rivals = [place for place in range(9) if place != first]
        p = sorted((ttest_rel(scores[first], scores[rival]).pvalue, rival) for rival in rivals)
        lost = set()
        for left, (value, rival) in zip(range(8, 0, -1), p, strict=True):  # Holm, step by step
            if value >= 0.05 / left:
                break
            lost.add(rival)
        ruling = rule(Scheduler(name="race", finalists=2), scores[:, :, None])
        assert going(ruling) == set(range(9)) - lost | best(means, 2)
        stopped += len(lost)
    assert stopped


def test_a_race_of_equal_differences_needs_no_variance():
    scores = np.array([[0.5, 0.6], [0.4, 0.5], [0.5, 0.6]])[:, :, None]
    ruling = rule(Scheduler(name="race", finalists=1), scores)
    assert going(ruling) == {0, 2}


@pytest.mark.parametrize("name", ["halving", "median", "race"])
def test_what_diverged_in_a_seed_comes_last(name):
    scores = drawn(6)
    scores[np.argmax(scores.mean(axis=(1, 2))), 2, 3:] = np.nan
    ruling = rule(Scheduler(name=name, finalists=1), scores)
    (lost,) = np.flatnonzero(np.isneginf(ruling.means))
    assert ruling.ranks[lost] == 6
    assert not ruling.goes_on[lost]
    assert ruling.goes_on.any()


@pytest.mark.parametrize("name", ["halving", "median", "race"])
def test_no_order_of_seeds_changes_a_ruling(name):
    scores = np.round(drawn(), 2)
    first, again = (rule(Scheduler(name=name), part) for part in (scores, scores[:, ::-1]))
    assert going(first) == going(again)
    np.testing.assert_array_equal(first.means, again.means)
