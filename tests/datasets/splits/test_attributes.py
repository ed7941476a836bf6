import numpy as np
import pytest
from pools import blank_pool
from sklearn.cluster import SpectralClustering

from fsl_sweep.datasets.benchmark import SPLITS, common_tasks
from fsl_sweep.datasets.splits.attributes import (
    AttributeOptions,
    attribute_benchmark,
    attribute_sets,
    bipartition,
    normalised_cut,
    pair_remarks,
)
from fsl_sweep.datasets.tasks.attributes import feasible_pairs
from fsl_sweep.datasets.tasks.episodes import EpisodeShape


def made_pool(images=2000, attributes=9):
    rng = np.random.default_rng(0)
    labels, known = rng.integers(0, 60, images), rng.random((60, attributes)) < 0.35
    return blank_pool(labels, attributes=known, attribute_names="abcdefghi")


def made(novel=range(5), **options):
    chosen = AttributeOptions.model_validate({"min_images": 10, **options})
    return attribute_benchmark("made", made_pool(), np.arange(5), np.array(novel), chosen)


def parts_of(benchmark):
    return {split: benchmark.distribution(split).examples for split in SPLITS}


def test_in_distribution_val_and_novel_draw_the_same_pairs_and_no_split_shares_an_image():
    benchmark = made(training_tasks=4)
    parts = [*parts_of(benchmark).values()]
    assert [len(part) for part in parts] == [800, 400, 400, 400]
    assert sorted(np.concatenate(parts)) == list(range(2000))
    expected = feasible_pairs(made_pool(), np.arange(5), parts, 10)
    np.testing.assert_array_equal(benchmark.novel.pairs, expected)
    np.testing.assert_array_equal(benchmark.val.pairs, expected)
    np.testing.assert_array_equal(benchmark.base.pairs, benchmark.train.pairs)
    assert len(benchmark.base.pairs) <= 4


def test_out_of_distribution_novel_pairs_are_of_other_attributes_with_enough_images():
    benchmark = made(novel=range(5, 9))
    assert benchmark.val.size == benchmark.novel.size + 1 == 5
    for split, attributes in (("train", range(5)), ("val", range(5)), ("novel", range(5, 9))):
        drawn = common_tasks(benchmark, split, "report", 50, EpisodeShape(2, 1, 4), 0)
        assert set(np.unique(drawn.classes)) <= set(attributes)
    for least in (10, 30, 34, 38, 42):  # each pair needs images only in the splits that draw it
        benchmark = made(novel=range(4, 9), min_images=least)
        *measured, novel = parts_of(benchmark).values()
        expected = feasible_pairs(made_pool(), np.arange(5), measured, least)
        np.testing.assert_array_equal(benchmark.val.pairs, expected)
        expected = feasible_pairs(made_pool(), np.arange(4, 9), [novel], least)
        np.testing.assert_array_equal(benchmark.novel.pairs, expected)


@pytest.mark.parametrize("tasks", [1, 3, 20])
def test_unseen_pairs_are_those_of_no_training_task(tasks):
    benchmark = made(training_tasks=tasks)
    trained, novel = (
        set(map(tuple, split.sample(2000, EpisodeShape(2, 1, 1), rng).classes.tolist()))
        for split, rng in zip(
            (benchmark.train, benchmark.novel), np.random.default_rng(0).spawn(2), strict=True
        )
    )
    assert pair_remarks(benchmark)[1] == (
        f"novel: {len(novel)} attribute pairs, {len(novel - trained)} of them in no training task"
    )


def planted(sizes, seed, inside=50, across=8):
    """A graph of two communities, its nodes in random order, and who is where."""
    rng = np.random.default_rng(seed)
    side = rng.permutation(np.repeat([0, 1], sizes))
    upper = np.triu(rng.poisson(np.where(side[:, None] == side, inside, across)), k=1)
    return upper + upper.T, side


def cut(graph):
    return [part.tolist() for part in bipartition(graph)]


@pytest.mark.parametrize("sizes", [(36, 30), (12, 7), (6, 5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_sets_are_found_as_scikit_learn_finds_them(sizes, seed):
    graph, side = planted(sizes, seed)
    parts = [np.flatnonzero(side == label).tolist() for label in (0, 1)]
    assert cut(graph) == parts
    labels = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(graph)
    assert sorted(np.flatnonzero(labels == label).tolist() for label in (0, 1)) == sorted(parts)


def test_cuts_of_worked_examples_and_in_any_order():
    graph = np.array([[0, 4, 1, 0], [4, 0, 0, 1], [1, 0, 0, 6], [0, 1, 6, 0]])
    # Two edges of weight 1 are cut; the sides have total weights 5 + 5 and 7 + 7.
    assert normalised_cut(graph, np.array([0, 1])) == pytest.approx(2 / 10 + 2 / 14)
    square = np.ones((4, 4))  # sides of one size are ordered by their first node
    assert cut(np.kron([[20, 1], [1, 20]], square)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert cut(np.kron(np.eye(2), square)[1:, 1:]) == [[3, 4, 5, 6], [0, 1, 2]]  # no edge between
    graph, _ = planted((9, 7), 4)
    order = np.random.default_rng(0).permutation(16)
    assert [sorted(order[part]) for part in cut(graph[np.ix_(order, order)])] == cut(graph)


def test_only_attributes_in_a_feasible_pair_are_cut():
    rng = np.random.default_rng(0)
    known = np.zeros((400, 9), bool)
    known[:200, :5] = rng.random((200, 5)) < 0.6
    known[200:, 5:8] = rng.random((200, 3)) < 0.6
    known[:6, 8] = True  # six images are too few for a pair
    known |= (rng.random((400, 9)) < 0.02) & (np.arange(9) < 8)
    pool = blank_pool(np.arange(400), attributes=known, attribute_names="abcdefghi")
    larger, smaller = attribute_sets(pool, np.arange(9), 20)
    assert (larger.tolist(), smaller.tolist()) == ([0, 1, 2, 3, 4], [5, 6, 7])


def test_too_few_pairs_and_attributes_are_refused(refused, snapshot):
    lonely = np.ones((5, 5))
    lonely[2, :] = lonely[:, 2] = 0
    lonely[2, 2] = 9  # only with itself
    assert [
        refused(made, min_images=800),
        refused(made, novel=[7]),
        refused(bipartition, np.ones((3, 3))),
        refused(bipartition, lonely),
    ] == snapshot
