from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import assert_uniform, blank_pool

from fsl_sweep.datasets.tasks.attributes import (
    AttributeTasks,
    FixedTasks,
    co_occurrence,
    feasible_pairs,
)
from fsl_sweep.datasets.tasks.episodes import EpisodeShape

ALL = np.arange(5)
EVERY = np.arange(240)


def made_pool(images=240, seed=0):
    """Images of 16 combinations of 5 attributes."""
    rng = np.random.default_rng(seed)
    known, labels = rng.random((16, 5)) < 0.5, rng.integers(0, 16, images)
    return blank_pool(labels, 16, attributes=known, attribute_names=[f"a{a}" for a in ALL])


def carried(pool):
    """What each image carries, bool ``[N, A]``."""
    return np.stack([pool.attributes[label] for label in pool.labels])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), shot=st.integers(1, 3), query=st.integers(1, 3))
def test_positives_carry_both_and_negatives_do_not(seed, shot, query):
    pool = made_pool(seed=seed)
    pairs = feasible_pairs(pool, ALL, [EVERY], shot + query)
    if len(pairs) == 0:
        return
    shape = EpisodeShape(2, shot, query)
    drawn = AttributeTasks(pool, pairs).sample(30, shape, np.random.default_rng(seed))
    assert (drawn.support.shape, drawn.query.shape) == ((30, 2, shot), (30, 2, query))
    has = carried(pool)
    together = np.concatenate([drawn.support, drawn.query], axis=2)
    for task, (lower, upper) in zip(together, drawn.classes, strict=True):
        assert lower < upper
        both = has[:, lower] & has[:, upper]
        assert both[task[1]].all()
        assert not both[task[0]].any()
        assert len(np.unique(task)) == task.size  # nothing repeats in support and query


def test_pairs_and_examples_are_uniform():
    pool, some = made_pool(images=60), np.arange(0, 60, 2)
    pairs = feasible_pairs(pool, ALL, [some], 3)
    assert len(pairs) >= 3
    tasks = AttributeTasks(pool, pairs, some)
    drawn = tasks.sample(60_000, EpisodeShape(2, 1, 2), np.random.default_rng(0))
    assert_uniform(drawn.classes, pairs)
    has = carried(pool)
    for lower, upper in pairs[:4]:
        of_pair = (drawn.classes == [lower, upper]).all(axis=1)
        both = has[some, lower] & has[some, upper]
        for side, group in ((1, some[both]), (0, some[~both])):
            for part in (drawn.support, drawn.query[..., 1:]):
                assert_uniform(part[of_pair, side].ravel(), group)


def test_feasible_pairs_and_co_occurrence_count_images():
    pool = made_pool()
    has, parts = carried(pool), [EVERY[::3], EVERY[1::3]]
    counts = [[np.sum(has[parts[0], a] & has[parts[0], b]) for b in ALL] for a in ALL]
    np.testing.assert_array_equal(co_occurrence(pool, parts[0]), counts)

    def fewest(a, b):
        both = [has[part, a] & has[part, b] for part in parts]
        return min(min(np.sum(carry), np.sum(~carry)) for carry in both)

    for least in (1, 10, 18, 25):
        expected = [[a, b] for a, b in combinations([0, 2, 3, 4], 2) if fewest(a, b) >= least]
        assert feasible_pairs(pool, np.array([4, 2, 0, 3]), parts, least).tolist() == expected


def test_two_attributes_of_one_property_are_no_pair():
    plain = made_pool()
    names = ("Heel", "Closure.Lace.up", "Closure.Buckle", "Heel.High", "Toe")
    pairs, others = (
        feasible_pairs(pool, ALL, [EVERY], 1).tolist()
        for pool in (replace(plain, attribute_names=names), plain)
    )
    assert [pair for pair in others if pair not in pairs] == [[0, 3], [1, 2]]
    assert [pair for pair in others if pair in pairs] == pairs


def made(least=4):
    pool = made_pool()
    return AttributeTasks(pool, feasible_pairs(pool, ALL, [EVERY], least))


def test_the_same_generator_gives_the_same_tasks_in_chunks_or_not(monkeypatch):
    tasks, shape = made(), EpisodeShape(2, 1, 2)
    which = np.arange(50) % len(tasks.pairs)
    monkeypatch.setattr("fsl_sweep.datasets.tasks.distribution.INDICES_AT_ONCE", 30)
    drawn, again = (tasks.sample_of(which, shape, np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(drawn.classes, tasks.pairs[which])
    np.testing.assert_array_equal(drawn.query, again.query)


def test_it_counts_attributes_and_digests_what_it_draws():
    pool = made_pool()
    tasks = AttributeTasks(pool, np.array([[3, 1], [1, 4]]))
    assert tasks.pairs.tolist() == [[1, 3], [1, 4]]
    assert (tasks.size, tasks.unit, tasks.by_label) == (3, "attributes", False)
    assert tasks.digest() == AttributeTasks(pool, np.array([[1, 4], [1, 3]])).digest()
    assert tasks.digest() != AttributeTasks(pool, np.array([[1, 4]])).digest()
    assert tasks.digest() != AttributeTasks(pool, tasks.pairs, np.arange(100)).digest()


SHAPE = EpisodeShape(2, 2, 3)


def rows(episodes):
    parts = (episodes.support, episodes.query, episodes.classes)
    return {
        tuple(np.concatenate([part[t].ravel() for part in parts])) for t in range(len(episodes))
    }


def test_fixed_tasks_are_the_same_in_every_epoch():
    fixed = FixedTasks(made(10), 7, seed=3)
    kept = rows(fixed.episodes(SHAPE))
    assert len(kept) == fixed.count(SHAPE) == 7
    for seed in range(3):
        assert rows(fixed.sample(100, SHAPE, np.random.default_rng(seed))) == kept
        assert rows(fixed.take(np.arange(7), SHAPE, np.random.default_rng(seed))) == kept


def test_fixed_tasks_depend_on_the_seed_and_their_number():
    tasks = made(10)
    first, again, other = (FixedTasks(tasks, 20, seed) for seed in (0, 0, 1))
    assert rows(first.episodes(SHAPE)) == rows(again.episodes(SHAPE))
    assert rows(first.episodes(SHAPE)) != rows(other.episodes(SHAPE))
    wider = first.episodes(EpisodeShape(2, 1, 4))
    np.testing.assert_array_equal(wider.classes, first.episodes(SHAPE).classes)
    counts = [len(FixedTasks(tasks, count, 0).pairs) for count in (1, 5, 400)]
    assert counts == sorted(counts)
    assert (counts[0], counts[2]) == (1, len(tasks.pairs))
    assert FixedTasks(tasks, 1, 0).size == 2
    assert len({fixed.digest() for fixed in (first, other, FixedTasks(tasks, 6, 0))}) == 3


def test_what_cannot_be_drawn_is_refused(pool, refused, snapshot):
    tasks, rng = made(), np.random.default_rng(0)
    fixed, pair = FixedTasks(tasks, 5, 0), np.array([[0, 1]])
    assert [
        refused(tasks.check, EpisodeShape(5, 1, 1)),
        refused(tasks.check, EpisodeShape(2, 200, 40)),
        refused(tasks.check, EpisodeShape(2, 1, 1), 0),
        refused(fixed.check, EpisodeShape(3, 1, 1)),
        refused(fixed.sample, 4, EpisodeShape(2, 200, 50), rng),
        refused(AttributeTasks, pool, pair),
        refused(AttributeTasks, made_pool(), pair, np.array([3, 3])),
    ] == snapshot
