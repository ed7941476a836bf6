import numpy as np
import pytest
from pools import blank_pool
from sklearn.cluster import SpectralClustering

from fsl_sweep.datasets.splits.attributes import (
    attribute_sets,
    bipartition,
    normalised_cut,
)
from fsl_sweep.orchestrator.errors import BadData


def planted(sizes, seed, inside=50, across=8):
    """A graph of two communities, its nodes in random order, and who is where."""
    rng = np.random.default_rng(seed)
    side = rng.permutation(np.repeat([0, 1], sizes))
    rate = np.where(side[:, None] == side, inside, across)
    upper = np.triu(rng.poisson(rate), k=1)
    return upper + upper.T, side


@pytest.mark.parametrize("sizes", [(36, 30), (12, 7), (6, 5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_sets_are_found_as_scikit_learn_finds_them(sizes, seed):
    graph, side = planted(sizes, seed)
    larger, smaller = bipartition(graph)
    assert larger.tolist() == np.flatnonzero(side == 0).tolist()
    assert smaller.tolist() == np.flatnonzero(side == 1).tolist()
    labels = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(graph)
    groups = {tuple(np.flatnonzero(labels == label)) for label in (0, 1)}
    assert groups == {tuple(larger), tuple(smaller)}


def test_the_normalised_cut_of_a_worked_example():
    graph = np.array([[0, 4, 1, 0], [4, 0, 0, 1], [1, 0, 0, 6], [0, 1, 6, 0]])
    # Two edges of weight 1 are cut; the sides have total weights 5 + 5 and 7 + 7.
    assert normalised_cut(graph, np.array([0, 1])) == pytest.approx(2 / 10 + 2 / 14)


def test_the_order_of_the_nodes_is_of_no_matter():
    graph, _ = planted((9, 7), 4)
    order = np.random.default_rng(0).permutation(16)
    larger, smaller = bipartition(graph[np.ix_(order, order)])
    plain = bipartition(graph)
    assert sorted(order[larger]) == plain[0].tolist()
    assert sorted(order[smaller]) == plain[1].tolist()


def test_sides_of_one_size_are_ordered_by_their_first_node():
    graph = np.kron(np.array([[20, 1], [1, 20]]), np.ones((4, 4)))
    larger, smaller = bipartition(graph)
    assert (larger.tolist(), smaller.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])


def test_parts_without_an_edge_between_them_are_separated():
    graph = np.kron(np.eye(2), np.ones((4, 4)))[1:, 1:]
    larger, smaller = bipartition(graph)
    assert (larger.tolist(), smaller.tolist()) == ([3, 4, 5, 6], [0, 1, 2])


def test_too_few_or_lonely_attributes_are_refused():
    with pytest.raises(BadData, match="3 attributes cannot be cut"):
        bipartition(np.ones((3, 3)))
    lonely = np.ones((5, 5))
    lonely[2, :] = lonely[:, 2] = 0
    lonely[2, 2] = 9  # only with itself
    with pytest.raises(BadData, match="shares no image"):
        bipartition(lonely)


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
