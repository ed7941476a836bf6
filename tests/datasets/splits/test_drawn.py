import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pools import blank_pool
from scipy.stats import binomtest

from fsl_sweep.datasets.splits.drawn import class_benchmark, draw_partition, held_out_split


@given(
    sizes=st.lists(st.integers(2, 40), min_size=1, max_size=6),
    held_out=st.floats(0.01, 0.99),
    seed=st.integers(0, 2**32),
)
def test_train_and_held_out_are_disjoint_and_whole(sizes, held_out, seed):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    train, held = held_out_split(blank_pool(labels), np.arange(len(sizes)), held_out, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, held])), np.arange(len(labels)))
    expected = [min(max(1, round(held_out * size)), size - 1) for size in sizes]
    assert np.bincount(labels[held]).tolist() == expected


def test_a_class_is_split_the_same_whatever_else_there_is_and_examples_alike(pool):
    train, alone, reordered, other = (
        held_out_split(pool, np.array(classes), 0.3, seed)[0]
        for classes, seed in (([0, 3, 5], 4), ([3], 4), ([5, 0, 3], 4), ([3], 5))
    )
    np.testing.assert_array_equal(train[pool.labels[train] == 3], alone)
    np.testing.assert_array_equal(train, reordered)
    assert not np.array_equal(alone, other)
    seeds, counts = 2000, np.zeros(len(pool))
    for seed in range(seeds):
        counts[held_out_split(pool, np.array([0]), 0.25, seed)[1]] += 1
    assert all(binomtest(int(c), seeds, 0.25).pvalue > 1e-5 for c in counts[pool.labels == 0])


@given(st.integers(3, 200), st.integers(0, 1000))
def test_a_drawn_partition_has_its_shares_whatever_the_order_of_classes(groups, seed):
    names = np.array([f"g{g:03d}" for g in range(groups) for _ in range(2)])
    parts = draw_partition(names, (0.64, 0.16, 0.2), seed)
    assert sorted(np.concatenate([*parts.values()])) == [*range(2 * groups)]
    for split, share in (("val", 0.16), ("novel", 0.2)):
        assert len(parts[split]) == 2 * max(1, round(share * groups))
    owners = [set(names[labels]) for labels in parts.values()]
    assert sum(map(len, owners)) == len(set().union(*owners))
    again = draw_partition(names[::-1], (0.64, 0.16, 0.2), seed)
    assert [set(names[::-1][labels]) for labels in again.values()] == owners
    fewer = draw_partition([f"g{g}" for g in range(20)], (0.3, 0.2, 0.2), seed)
    assert [len(fewer[s]) for s in ("base", "val", "novel")] == [6, 4, 4]  # others are left out


def test_what_cannot_be_split_is_refused(pool, refused, snapshot):
    classes = {"base": np.array([0, 1]), "val": np.array([1, 2]), "novel": np.array([3, 4])}
    lonely = {**classes, "val": np.array([5])}
    assert [
        refused(held_out_split, blank_pool([0], ["lonely"]), np.array([0]), 0.2, 0),
        refused(draw_partition, ["a", "b", "a"], (0.6, 0.2, 0.2), 0),
        refused(draw_partition, ["a"], (0.64, 0.16, 0.2), 0),
        refused(draw_partition, list("abcd"), (0.8, 0.1, 0.05), 0),
        refused(class_benchmark, "made", pool, classes, 0.2, 0),
        refused(class_benchmark, "made", pool, lonely, 0.2, 0),
    ] == snapshot
