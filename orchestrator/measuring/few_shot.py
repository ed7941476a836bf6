"""Measuring a learner on few-shot tasks: by features of each image once, or by adaptation.

An image appears in dozens of tasks. So embedding each image once costs little more than embedding
the pools, and gives the same predictions as embedding each episode separately. Where every task has
weights of its own, no feature can be shared: a few tasks at a time are answered on their images.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import AdaptationLearner, EmbeddingLearner
from fsl_sweep.orchestrator.measuring.features import PoolFeatures
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, Results, check_shape, score


def measure_by_embedding(
    learner: EmbeddingLearner[Any], images: PoolImages, sets: EpisodeSets
) -> Results:
    """Return per-task results on episodes of one pool, of a learner in evaluation mode."""
    features = PoolFeatures.embedded(learner, images, used(sets.values()))
    return {key: features.score(episodes) for key, episodes in sets.items()}


def used(sets: Iterable[Episodes]) -> Int[np.ndarray, " images"]:
    """Return pool indices of all images of the episodes, each once and sorted."""
    parts = [np.unique(part) for e in sets for part in (e.support, e.query)]
    indices = np.unique(np.concatenate(parts))
    return indices[indices >= 0]  # absent classes and queries are padded with -1


def measure_by_adaptation(
    learner: AdaptationLearner[Any], images: PoolImages, sets: EpisodeSets
) -> Results:
    """Return per-task results on episodes of one pool, of a learner in evaluation mode."""

    def ready(indices: np.ndarray) -> Tensor:
        return images.normalised(images.unit(indices))

    def answer(tasks: TaskGroup) -> Tensor:
        logits = learner.predict(ready(tasks.support), ready(tasks.query))
        check_shape(logits, tasks.answers, learner)
        return logits

    # Not inference mode: the adaptation could not differentiate its tensors.
    with torch.no_grad():
        return {key: score(e, images.at_once.adapted, answer) for key, e in sets.items()}
