"""Measuring an embedding learner: each image once, and the tasks in feature space.

An image appears in dozens of tasks, so this costs little more than embedding the pools (measured in
``benchmarks/``), and gives the predictions that embedding each episode for itself gives.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.datasets.ragged import grouped
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import Measure, TaskScores, TaskSet
from fsl_sweep.orchestrator.scoring import check_scorable, correct_counts


def measure_by_embedding(
    learner: EmbeddingLearner[Any],
    images: PoolImages,
    group: Mapping[tuple[Measure, TaskSet], Episodes],
) -> dict[tuple[Measure, TaskSet], TaskScores]:
    """Per-task results on episodes of one pool, of a learner in evaluation mode.

    Raises:
        BadData: as `check_scorable`.
    """
    for episodes in group.values():
        check_scorable(episodes)
    with torch.inference_mode():
        features, row_of = _embed(learner, images, group.values())
        floats = images.at_once.floats
        return {key: _score(learner, features, row_of, e, floats) for key, e in group.items()}


def _embed(
    learner: EmbeddingLearner[Any], images: PoolImages, episodes: Iterable[Episodes]
) -> tuple[Tensor, np.ndarray]:
    """Features ``[M, d]`` of every image that the tasks touch, and each pool index's row."""
    touched = [np.unique(part) for e in episodes for part in (e.support, e.query)]
    indices = np.unique(np.concatenate(touched))
    indices = indices[indices >= 0]  # absent classes and queries are padded with -1
    features = images.through(learner.embed, indices).float()
    row_of = np.full(images.pool.images.shape[0], -1, np.int64)
    row_of[indices] = np.arange(len(indices))
    return features, row_of


def _score(
    learner: EmbeddingLearner[Any],
    features: Tensor,
    row_of: np.ndarray,
    episodes: Episodes,
    floats: int,
) -> TaskScores:
    """Correct answers of each task; a head is given one task, or at most ``floats`` features."""
    correct = np.zeros(len(episodes), np.int64)
    queries = np.zeros(len(episodes), np.int64)
    for group in grouped(episodes):
        images = group.support[0].size + group.query.shape[1]
        step = max(1, floats // (images * features.shape[1]))
        for start in range(0, len(group), step):
            some = group[start : start + step]
            support = _gather(features, row_of[some.support])
            asked = _gather(features, row_of[some.query])
            target = torch.from_numpy(some.target).to(features.device)
            correct[some.tasks] = correct_counts(learner.head(support, asked), target)
        queries[group.tasks] = group.query.shape[1]
    return TaskScores(correct, queries)


def _gather(features: Tensor, rows: np.ndarray) -> Tensor:
    index = torch.from_numpy(rows).to(features.device)
    return features[index]
