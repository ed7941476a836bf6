"""A benchmark of attribute pairs over one pool: in distribution, or with other attributes."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from fsl_sweep.datasets.benchmark import SPLITS, Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.randomness import named_generator
from fsl_sweep.datasets.source import Options
from fsl_sweep.datasets.tasks.attributes import (
    AttributeTasks,
    FixedTasks,
    co_occurrence,
    feasible_pairs,
)
from fsl_sweep.orchestrator.errors import BadData

_SHARED = (
    "All tasks draw from all images, as in the paper: tasks of BaseGen, ValGen and NovelGen show "
    "training images again, so they measure unseen tasks, not unseen images"
)


class AttributeOptions(Options):
    """Options that every benchmark of attribute pairs has."""

    training_tasks: int = Field(
        1000, ge=1, description="training tasks, each with one support and query draw"
    )
    min_images: int = Field(
        20, ge=2, description="images that a pair needs in each split that draws it"
    )
    images: Literal["split", "shared"] = Field(
        "split", description="whether no image is in two splits, or all tasks draw from all images"
    )
    held_out: float = Field(
        0.6, gt=0, lt=1, description="share of the images that is not trained on, if they are split"
    )
    seed: int = Field(0, ge=0, description="of the images' split and of the training tasks")


def attribute_benchmark(
    name: str,
    pool: ImagePool,
    attributes: np.ndarray,
    novel_attributes: np.ndarray,
    options: AttributeOptions,
) -> Benchmark:
    """Train on fixed attribute tasks; measure base, val and novel on images that are held out.

    "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution", section 4 and appendix
    D.1: training and validation tasks are uniform over the feasible pairs of A; novel ones too (in
    distribution), or over the pairs of a set A' that is disjoint from A. With ``images:
    shared``, as in the paper, all of them draw from all images. With ``split`` no image is in two
    splits: the share ``held_out`` is dealt out evenly to base, val and novel, and a pair is
    feasible if every split that draws it has enough images. BaseGen is measured on the pairs of
    the training tasks.

    ``attributes`` is A, columns of ``pool.attributes``; ``novel_attributes`` is A again, or A'.

    Raises:
        BadData: no pair of a set is feasible.
    """
    shared, parts = options.images == "shared", _parts(len(pool), options)
    same = set(attributes) == set(novel_attributes)
    known_parts = [parts[split] for split in SPLITS if same or split != "novel"]
    novel_parts = known_parts if same else [parts["novel"]]
    pairs = feasible_pairs(pool, attributes, known_parts, options.min_images)
    novel_pairs = feasible_pairs(pool, novel_attributes, novel_parts, options.min_images)
    for kind, feasible in (("training", pairs), ("novel", novel_pairs)):
        if len(feasible) == 0:
            raise BadData(
                f"No pair of the {kind} attributes of '{name}' has {options.min_images} images in "
                "each split. Set min_images lower, or give more images."
            )
    train = FixedTasks(
        AttributeTasks(pool, pairs, parts["train"]), options.training_tasks, options.seed
    )
    return Benchmark.of(
        name,
        train=train,
        base=AttributeTasks(pool, train.pairs, parts["base"]),
        val=AttributeTasks(pool, pairs, parts["val"]),
        novel=AttributeTasks(pool, novel_pairs, parts["novel"]),
        fresh_base=not shared,
        cautions=(_SHARED,) if shared else (),
    )


def pair_remarks(benchmark: Benchmark) -> tuple[str, ...]:
    """Say how many pairs each split draws from, and how many are in no training task.

    In distribution the second number falls as training tasks are added ("Two Sides", appendix E.2:
    16, 153 and 269 pairs at 1000, 250 and 50 tasks). Empty if tasks are not attribute pairs.
    """
    train, measured = benchmark.train, (benchmark.val, benchmark.novel)
    if not isinstance(train, FixedTasks):
        return ()
    seen = {tuple(pair) for pair in train.pairs.tolist()}
    return tuple(
        f"{split}: {len(drawn.pairs)} attribute pairs, "
        f"{sum(tuple(pair) not in seen for pair in drawn.pairs.tolist())} of them in no training "
        "task"
        for split, drawn in zip(("val", "novel"), measured, strict=True)
        if isinstance(drawn, AttributeTasks)
    )


def _parts(images: int, options: AttributeOptions) -> Mapping[str, np.ndarray]:
    """Deal every image to one of the splits, or to all."""
    if options.images == "shared":
        return dict.fromkeys(SPLITS, np.arange(images))
    order = named_generator(options.seed, "attribute splits").permutation(images)
    measured = round(images * options.held_out / 3)
    bounds = np.cumsum([images - 3 * measured, measured, measured])
    return {
        split: np.sort(part) for split, part in zip(SPLITS, np.split(order, bounds), strict=True)
    }


_COUPLING = 1e-9  # of the mean weight, between any two nodes: keeps the graph connected


def attribute_sets(
    pool: ImagePool, attributes: np.ndarray, least: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cut A and A' out of the attributes that are in a pair feasible with ``least`` images.

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
    """Cut a weighted graph in two by its spectrum, the larger part first.

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
    first, second = np.sort(order[:size]), np.sort(order[size:])
    if (len(first), 0 in first) < (len(second), 0 in second):
        return second, first
    return first, second


def normalised_cut(graph: np.ndarray, part: np.ndarray) -> float:
    """Sum over a part and the rest the weight between them over the total weight at each."""
    inside = np.zeros(len(graph), dtype=bool)
    inside[part] = True
    cut = graph[inside][:, ~inside].sum()
    return float(cut / graph[inside].sum() + cut / graph[~inside].sum())
