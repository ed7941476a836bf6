import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pools import blank_pool
from scipy.stats import binomtest

from fsl_sweep.datasets.splits.drawn import class_benchmark, draw_partition, held_out_split
from fsl_sweep.orchestrator.errors import BadData


@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=6),
    held_out=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32),
)
def test_train_and_held_out_are_disjoint_and_whole(sizes, held_out, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    pool = blank_pool(labels)
    train, held = held_out_split(pool, np.arange(len(sizes)), held_out, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(len(labels)))
    for label, size in enumerate(sizes):
        expected = min(max(1, round(held_out * size)), size - 1)
        assert np.sum(labels[held] == label) == expected


def test_a_class_is_split_the_same_whatever_else_there_is(pool):
    train, _ = held_out_split(pool, np.array([0, 3, 5]), 0.3, 4)
    alone, _ = held_out_split(pool, np.array([3]), 0.3, 4)
    reordered, _ = held_out_split(pool, np.array([5, 0, 3]), 0.3, 4)
    np.testing.assert_array_equal(train[pool.labels[train] == 3], alone)
    np.testing.assert_array_equal(train, reordered)
    other, _ = held_out_split(pool, np.array([3]), 0.3, 5)
    assert not np.array_equal(alone, other)


def test_every_example_is_held_out_equally_often(pool):
    seeds = 2000
    counts = np.zeros(len(pool))
    for seed in range(seeds):
        counts[held_out_split(pool, np.array([0]), 0.25, seed)[1]] += 1
    assert all(binomtest(int(c), seeds, 0.25).pvalue > 1e-5 for c in counts[pool.labels == 0])


def test_a_class_with_one_example_is_refused():
    with pytest.raises(BadData, match=r"'lonely' has 1 example"):
        held_out_split(blank_pool([0], ["lonely"]), np.array([0]), 0.2, 0)


@given(st.integers(3, 200), st.integers(0, 1000))
def test_a_drawn_partition_has_its_shares(groups, seed):
    names = [f"g{g:03d}" for g in range(groups) for _ in range(2)]
    parts = draw_partition(names, (0.64, 0.16, 0.2), seed)
    together = np.concatenate(list(parts.values()))
    np.testing.assert_array_equal(np.sort(together), np.arange(2 * groups))
    for split, share in (("val", 0.16), ("novel", 0.2)):
        assert len(parts[split]) == 2 * max(1, round(share * groups))
    owners = [{names[c] for c in labels} for labels in parts.values()]
    assert sum(map(len, owners)) == len(set().union(*owners))


def test_a_drawn_partition_does_not_depend_on_the_order_of_classes():
    names = [f"g{g}" for g in range(30)]
    first = draw_partition(names, (0.5, 0.2, 0.3), 1)
    second = draw_partition(names[::-1], (0.5, 0.2, 0.3), 1)
    assert {names[c] for c in first["novel"]} == {names[::-1][c] for c in second["novel"]}


def test_shares_below_one_leave_classes_out():
    parts = draw_partition([f"g{g}" for g in range(20)], (0.3, 0.2, 0.2), 0)
    assert [len(parts[s]) for s in ("base", "val", "novel")] == [6, 4, 4]


def test_too_few_groups_are_refused():
    with pytest.raises(BadData, match="at least 3 groups"):
        draw_partition(["a", "b", "a"], (0.6, 0.2, 0.2), 0)


def test_a_class_in_two_splits_or_a_lonely_class_is_refused(pool):
    classes = {"base": np.array([0, 1]), "val": np.array([1, 2]), "novel": np.array([3, 4])}
    with pytest.raises(BadData, match="'class 1' is listed twice"):
        class_benchmark("made", pool, classes, 0.2, 0)
    with pytest.raises(BadData, match="val split of 'made' has 1 class; it needs at least 2"):
        class_benchmark("made", pool, {**classes, "val": np.array([5])}, 0.2, 0)
