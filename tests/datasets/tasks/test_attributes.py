from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import assert_uniform, blank_pool

from fsl_sweep.datasets.tasks import distribution
from fsl_sweep.datasets.tasks.attributes import (
    AttributeTasks,
    FixedTasks,
    co_occurrence,
    feasible_pairs,
)
from fsl_sweep.datasets.tasks.episodes import EpisodeShape

ALL, EVERY = np.arange(5), np.arange(240)
SHAPE = EpisodeShape(2, 2, 3)


def made_pool(images=240, seed=0):
    """Images of 16 combinations of 5 attributes."""
    rng = np.random.default_rng(seed)
    known, labels = rng.random((16, 5)) < 0.5, rng.integers(0, 16, images)
    return blank_pool(labels, 16, attributes=known, attribute_names=[f"a{a}" for a in ALL])


def made(least=4):
    pool = made_pool()
    return AttributeTasks(pool, feasible_pairs(pool, ALL, [EVERY], least))


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
    has = pool.attributes[pool.labels]
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
    has = pool.attributes[pool.labels[some]]
    for lower, upper in pairs[:4]:
        of_pair = (drawn.classes == [lower, upper]).all(axis=1)
        both = has[:, lower] & has[:, upper]
        for side, group in ((1, some[both]), (0, some[~both])):
            for part in (drawn.support, drawn.query[..., 1:]):
                assert_uniform(part[of_pair, side].ravel(), group)


def test_feasible_pairs_of_different_properties_and_co_occurrence_count_images():
    pool, parts = made_pool(), [EVERY[::3], EVERY[1::3]]
    has = [pool.attributes[pool.labels[part]] for part in parts]
    counts = [[np.sum(has[0][:, a] & has[0][:, b]) for b in ALL] for a in ALL]
    np.testing.assert_array_equal(co_occurrence(pool, parts[0]), counts)

    def fewest(a, b):
        both = [part[:, a] & part[:, b] for part in has]
        return min(min(np.sum(carry), np.sum(~carry)) for carry in both)

    for least in (1, 10, 18, 25):
        expected = [[a, b] for a, b in combinations([0, 2, 3, 4], 2) if fewest(a, b) >= least]
        assert feasible_pairs(pool, np.array([4, 2, 0, 3]), parts, least).tolist() == expected
    names = ("Heel", "Closure.Lace.up", "Closure.Buckle", "Heel.High", "Toe")
    pairs = feasible_pairs(replace(pool, attribute_names=names), ALL, [EVERY], 1).tolist()
    others = feasible_pairs(pool, ALL, [EVERY], 1).tolist()
    assert sorted([*pairs, [0, 3], [1, 2]]) == others


def test_tasks_are_drawn_in_chunks_count_attributes_and_digest_what_they_draw(monkeypatch):
    tasks = made()
    which = np.arange(50) % len(tasks.pairs)
    monkeypatch.setattr(distribution, "INDICES_AT_ONCE", 30)
    drawn, again = (tasks.sample_of(which, SHAPE, np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(drawn.classes, tasks.pairs[which])
    np.testing.assert_array_equal(drawn.query, again.query)
    tasks = AttributeTasks(tasks.pool, np.array([[3, 1], [1, 4]]))
    assert tasks.pairs.tolist() == [[1, 3], [1, 4]]
    assert (tasks.size, tasks.unit, tasks.by_label) == (3, "attributes", False)
    cases = [([[1, 4], [1, 3]], EVERY), ([[1, 4]], EVERY), (tasks.pairs, EVERY[:100])]
    digests = [AttributeTasks(tasks.pool, np.array(pairs), some).digest() for pairs, some in cases]
    assert digests[0] == tasks.digest()
    assert len(set(digests)) == 3


def rows(episodes):
    parts = zip(episodes.support, episodes.query, episodes.classes, strict=True)
    return {tuple(np.concatenate([part.ravel() for part in task])) for task in parts}


def test_fixed_tasks_are_the_same_in_every_epoch_and_follow_seed_and_number():
    tasks = made(10)
    first, again, other = (FixedTasks(tasks, 20, seed) for seed in (0, 0, 1))
    kept = rows(first.episodes(SHAPE))
    assert len(kept) == first.count(SHAPE) == 20
    for seed in range(3):
        assert rows(first.sample(400, SHAPE, np.random.default_rng(seed))) == kept
        assert rows(first.take(np.arange(20), SHAPE, np.random.default_rng(seed))) == kept
    assert rows(again.episodes(SHAPE)) == kept != rows(other.episodes(SHAPE))
    wider = first.episodes(EpisodeShape(2, 1, 4))
    np.testing.assert_array_equal(wider.classes, first.episodes(SHAPE).classes)
    assert len({fixed.digest() for fixed in (first, other, FixedTasks(tasks, 6, 0))}) == 3
    counts = [len(FixedTasks(tasks, count, 0).pairs) for count in (1, 5, 400)]
    assert counts == sorted(counts)
    assert (counts[0], counts[2]) == (1, len(tasks.pairs))
    assert FixedTasks(tasks, 1, 0).size == 2


def test_what_cannot_be_drawn_is_refused(pool, refused, snapshot):
    tasks, pair = made(), np.array([[0, 1]])
    fixed = FixedTasks(tasks, 5, 0)
    assert [
        refused(tasks.check, EpisodeShape(5, 1, 1)),
        refused(tasks.check, EpisodeShape(2, 200, 40)),
        refused(fixed.check, EpisodeShape(3, 1, 1)),
        refused(fixed.sample, 4, EpisodeShape(2, 200, 50), np.random.default_rng(0)),
        refused(AttributeTasks, pool, pair),
        refused(AttributeTasks, made_pool(), pair, np.array([3, 3])),
    ] == snapshot
