import dataclasses
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import blank_pool
from scipy.stats import chisquare

from fsl_sweep.datasets.tasks.attributes import AttributeTasks, co_occurrence, feasible_pairs
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.orchestrator.errors import BadData


def made_pool(images=240, kinds=16, attributes=5, seed=0):
    """Images of ``kinds`` combinations of attributes."""
    rng = np.random.default_rng(seed)
    known = rng.random((kinds, attributes)) < 0.5
    labels = rng.integers(0, kinds, images)
    names = [f"a{a}" for a in range(attributes)]
    return blank_pool(labels, kinds, attributes=known, attribute_names=names)


def carried(pool):
    """What each image carries, bool ``[N, A]``."""
    return np.stack([pool.attributes[label] for label in pool.labels])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 1000), shot=st.integers(1, 3), query=st.integers(1, 3))
def test_positives_carry_both_and_negatives_do_not(seed, shot, query):
    pool = made_pool(seed=seed)
    pairs = feasible_pairs(pool, np.arange(5), [np.arange(len(pool))], shot + query)
    if len(pairs) == 0:
        return
    tasks, shape = AttributeTasks(pool, pairs), EpisodeShape(2, shot, query)
    drawn = tasks.sample(30, shape, np.random.default_rng(seed))
    assert drawn.support.shape == (30, 2, shot)
    assert drawn.query.shape == (30, 2, query)
    has = carried(pool)
    together = np.concatenate([drawn.support, drawn.query], axis=2)
    for task, (one, other) in zip(together, drawn.classes, strict=True):
        assert one < other
        both = has[:, one] & has[:, other]
        assert both[task[1]].all()
        assert not both[task[0]].any()
        assert len(np.unique(task)) == task.size  # nothing repeats in support and query


def test_pairs_and_examples_are_uniform():
    pool = made_pool(images=60)
    some = np.arange(0, 60, 2)
    pairs = feasible_pairs(pool, np.arange(5), [some], 3)
    assert len(pairs) >= 3
    tasks = AttributeTasks(pool, pairs, some)
    drawn = tasks.sample(60_000, EpisodeShape(2, 1, 2), np.random.default_rng(0))
    found, counts = np.unique(drawn.classes, axis=0, return_counts=True)
    np.testing.assert_array_equal(found, pairs)
    assert chisquare(counts).pvalue > 1e-4
    has = carried(pool)
    for one, other in pairs[:4]:
        of_pair = (drawn.classes == [one, other]).all(axis=1)
        both = has[some, one] & has[some, other]
        for side, group in ((1, some[both]), (0, some[~both])):
            for part in (drawn.support, drawn.query[..., 1:]):
                examples, counts = np.unique(part[of_pair, side], return_counts=True)
                np.testing.assert_array_equal(examples, group)
                assert chisquare(counts).pvalue > 1e-4


def test_feasible_pairs_and_co_occurrence_count_images():
    pool = made_pool()
    has = carried(pool)
    parts = [np.arange(0, 240, 3), np.arange(1, 240, 3)]
    together = co_occurrence(pool, parts[0])
    for one in range(5):
        for other in range(5):
            assert together[one, other] == np.sum(has[parts[0], one] & has[parts[0], other])
    for least in (1, 10, 18, 25):
        expected = [
            [one, other]
            for one, other in combinations([0, 2, 3, 4], 2)
            if all(
                min(np.sum(both := has[p, one] & has[p, other]), np.sum(~both)) >= least
                for p in parts
            )
        ]
        found = feasible_pairs(pool, np.array([4, 2, 0, 3]), parts, least)
        assert found.tolist() == expected


def test_two_attributes_of_one_property_are_no_pair():
    made = made_pool()
    names = ("Heel", "Closure.Lace.up", "Closure.Buckle", "Heel.High", "Toe")
    pool = dataclasses.replace(made, attribute_names=names)
    pairs = feasible_pairs(pool, np.arange(5), [np.arange(240)], 1).tolist()
    others = feasible_pairs(made, np.arange(5), [np.arange(240)], 1).tolist()
    assert [pair for pair in others if pair not in pairs] == [[0, 3], [1, 2]]
    assert [pair for pair in others if pair in pairs] == pairs


def test_the_same_generator_gives_the_same_tasks_in_chunks_or_not(monkeypatch):
    pool = made_pool()
    tasks = AttributeTasks(pool, feasible_pairs(pool, np.arange(5), [np.arange(240)], 4))
    shape = EpisodeShape(2, 1, 2)
    which = np.arange(50) % len(tasks.pairs)
    monkeypatch.setattr("fsl_sweep.datasets.tasks.distribution.INDICES_AT_ONCE", 30)
    drawn = tasks.sample_of(which, shape, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.classes, tasks.pairs[which])
    again = tasks.sample_of(which, shape, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.query, again.query)


def test_what_cannot_be_drawn_is_refused_with_numbers():
    pool = made_pool()
    pairs = feasible_pairs(pool, np.arange(5), [np.arange(240)], 4)
    tasks = AttributeTasks(pool, pairs)
    with pytest.raises(BadData, match=r"have 2 classes.*not 5; write `way: 2`"):
        tasks.check(EpisodeShape(5, 1, 1))
    with pytest.raises(BadData, match=r"need 240 examples a class, but there are \d+ images with"):
        tasks.check(EpisodeShape(2, 200, 40))
    with pytest.raises(BadData, match="0 tasks"):
        tasks.check(EpisodeShape(2, 1, 1), 0)


def test_images_without_attributes_or_twice_are_refused(pool):
    with pytest.raises(BadData, match="these have none"):
        AttributeTasks(pool, np.array([[0, 1]]))
    with pytest.raises(BadData, match="distinct"):
        AttributeTasks(made_pool(), np.array([[0, 1]]), np.array([3, 3]))


def test_it_counts_attributes_and_digests_what_it_draws():
    pool = made_pool()
    tasks = AttributeTasks(pool, np.array([[3, 1], [1, 4]]))
    assert tasks.pairs.tolist() == [[1, 3], [1, 4]]
    assert (tasks.size, tasks.unit, tasks.by_label) == (3, "attributes", False)
    assert tasks.digest() == AttributeTasks(pool, np.array([[1, 4], [1, 3]])).digest()
    assert tasks.digest() != AttributeTasks(pool, np.array([[1, 4]])).digest()
    assert tasks.digest() != AttributeTasks(pool, tasks.pairs, np.arange(100)).digest()
