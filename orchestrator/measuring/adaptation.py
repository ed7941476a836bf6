"""Measuring a learner that adapts: each task on its images, a few tasks at a time.

Every task has weights of its own, so no feature can be shared between tasks.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import AdaptationLearner
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, ScoreSets, check_scorable, score


def measure_by_adaptation(
    learner: AdaptationLearner[Any], images: PoolImages, sets: EpisodeSets
) -> ScoreSets:
    """Per-task results on episodes of one pool, of a learner in evaluation mode.

    Raises:
        BadData: as `check_scorable`.
    """

    def ready(indices: np.ndarray) -> Tensor:
        return images.normalised(images.unit(indices))

    def answer(tasks: TaskGroup) -> Tensor:
        return learner.predict(ready(tasks.support), ready(tasks.query))

    for episodes in sets.values():
        check_scorable(episodes)
    # Not inference mode: the adaptation could not differentiate its tensors.
    with torch.no_grad():
        return {key: score(e, images.at_once.adapted, answer) for key, e in sets.items()}
