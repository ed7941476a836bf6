"""Two sets of attributes that few images share: an approximate minimum cut of a graph."""

import numpy as np

from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.attributes import co_occurrence, feasible_pairs
from fsl_sweep.orchestrator.errors import BadData

_COUPLING = 1e-9  # of the mean weight, between any two nodes: keeps the graph connected


def attribute_sets(
    pool: ImagePool, attributes: np.ndarray, least: int
) -> tuple[np.ndarray, np.ndarray]:
    """A and A': the attributes that are in a pair feasible with ``least`` images, cut in two.

    Both are sorted columns of ``pool.attributes``, int64, the larger set first.

    Raises:
        BadData: too few attributes are left.
    """
    everything = np.arange(len(pool))
    paired = np.unique(feasible_pairs(pool, attributes, [everything], least))
    shared = co_occurrence(pool, everything)[np.ix_(paired, paired)]
    larger, smaller = bipartition(shared)
    return paired[larger], paired[smaller]


def bipartition(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spectral bipartition of a weighted graph, the larger part first.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution" (appendix D.1) cuts the
    graph of attributes, whose edges count the images that carry both, so that few images carry
    attributes of different sides. Here: the eigenvector to the second smallest eigenvalue of
    the normalised Laplacian, cut where the normalised cut is least (Shi and Malik,
    "Normalized Cuts and Image Segmentation", 2000). Each side gets at least two nodes. Of two
    sides of one size the first holds node 0, so that the eigenvector's sign does not matter.

    Args:
        weights: ``[n, n]``, symmetric, not negative; the diagonal is ignored.

    Returns:
        Two sorted int64 arrays of nodes.

    Raises:
        BadData: fewer than four nodes, or a node without an edge.
    """
    graph = np.array(weights, dtype=np.float64)
    np.fill_diagonal(graph, 0)
    if len(graph) < 4:
        raise BadData(f"{len(graph)} attributes cannot be cut into two sets with pairs in each.")
    if np.any(graph.sum(axis=1) == 0):
        raise BadData("An attribute shares no image with any other; leave it out of the graph.")
    graph += _COUPLING * graph.mean()
    np.fill_diagonal(graph, 0)
    root = np.sqrt(graph.sum(axis=1))
    _, vectors = np.linalg.eigh(np.eye(len(graph)) - graph / np.outer(root, root))
    along = vectors[:, 1] / root
    # Machines differ in the last digits: equal nodes keep their order.
    order = np.argsort(np.round(along / np.abs(along).max(), 9), kind="stable")
    cuts = [normalised_cut(graph, order[:size]) for size in range(2, len(graph) - 1)]
    size = 2 + int(np.argmin(cuts))
    one, other = np.sort(order[:size]), np.sort(order[size:])
    if (len(one), 0 in one) < (len(other), 0 in other):
        return other, one
    return one, other


def normalised_cut(graph: np.ndarray, part: np.ndarray) -> float:
    """Weight between a part and the rest, over the total weight at each, summed over the two."""
    inside = np.zeros(len(graph), dtype=bool)
    inside[part] = True
    cut = graph[inside][:, ~inside].sum()
    return float(cut / graph[inside].sum() + cut / graph[~inside].sum())
