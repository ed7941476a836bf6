"""Measuring a learner that adapts: each task on its images, a few tasks at a time.

Every task has weights of its own, so no feature can be shared between tasks.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.datasets.ragged import grouped
from fsl_sweep.learners.base import AdaptationLearner
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import Measure, TaskScores, TaskSet
from fsl_sweep.orchestrator.scoring import check_scorable, correct_counts


def measure_by_adaptation(
    learner: AdaptationLearner[Any],
    images: PoolImages,
    group: Mapping[tuple[Measure, TaskSet], Episodes],
) -> dict[tuple[Measure, TaskSet], TaskScores]:
    """Per-task results on episodes of one pool, of a learner in evaluation mode.

    Raises:
        BadData: as `check_scorable`.
    """
    # Not inference mode: its tensors could not be differentiated by the adaptation.
    with torch.no_grad():
        return {key: _score(learner, images, episodes) for key, episodes in group.items()}


def _score(learner: AdaptationLearner[Any], images: PoolImages, episodes: Episodes) -> TaskScores:
    check_scorable(episodes)
    correct = np.zeros(len(episodes), np.int64)
    queries = np.zeros(len(episodes), np.int64)
    for group in grouped(episodes):
        step = max(1, images.at_once.adapted // (group.support[0].size + group.query.shape[1]))
        for start in range(0, len(group), step):
            some = group[start : start + step]
            support = images.normalised(images.unit(some.support))
            asked = images.normalised(images.unit(some.query))
            target = torch.from_numpy(some.target).to(images.device)
            correct[some.tasks] = correct_counts(learner.predict(support, asked), target)
        queries[group.tasks] = group.query.shape[1]
    return TaskScores(correct, queries)
