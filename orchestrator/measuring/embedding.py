"""Measuring an embedding learner: each image once, and the tasks in feature space.

An image appears in dozens of tasks, so this costs little more than embedding the pools, and gives
the same predictions as embedding each episode separately.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, ScoreSets, check_scorable, score


def measure_by_embedding(
    learner: EmbeddingLearner[Any], images: PoolImages, sets: EpisodeSets
) -> ScoreSets:
    """Per-task results on episodes of one pool, of a learner in evaluation mode.

    Raises:
        BadData: as `check_scorable`.
    """
    for episodes in sets.values():
        check_scorable(episodes)
    with torch.inference_mode():
        features, row_of = _embed(learner, images, sets.values())

        def gathered(indices: np.ndarray) -> Tensor:
            return features[torch.from_numpy(row_of[indices]).to(features.device)]

        def answer(tasks: TaskGroup) -> Tensor:
            return learner.head(gathered(tasks.support), gathered(tasks.query))

        together = images.at_once.floats // features.shape[1]
        return {key: score(episodes, together, answer) for key, episodes in sets.items()}


def _embed(
    learner: EmbeddingLearner[Any], images: PoolImages, episodes: Iterable[Episodes]
) -> tuple[Tensor, np.ndarray]:
    """Features ``[M, d]`` of every image that the tasks use, and each pool index's row."""
    used = [np.unique(part) for e in episodes for part in (e.support, e.query)]
    indices = np.unique(np.concatenate(used))
    indices = indices[indices >= 0]  # absent classes and queries are padded with -1
    features = images.through(learner.embed, indices).float()
    row_of = np.full(images.pool.images.shape[0], -1, np.int64)
    row_of[indices] = np.arange(len(indices))
    return features, row_of
