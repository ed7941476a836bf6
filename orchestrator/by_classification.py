"""Measuring a classifier: each image once, among all base classes; the support is not looked at."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int

from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.orchestrator.errors import BadData, TrialFailure
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import Measure, TaskScores, TaskSet


def measure_by_classification(
    learner: ClassificationLearner[Any],
    images: PoolImages,
    group: Mapping[tuple[Measure, TaskSet], Episodes],
    classes: Int[np.ndarray, " classes"],
) -> dict[tuple[Measure, TaskSet], TaskScores]:
    """Per-task results on episodes of one pool, of a learner in evaluation mode.

    Args:
        learner: answers among ``classes``.
        images: of the pool that the episodes index.
        group: the episodes.
        classes: the pool's labels of the classes that were trained on, sorted.

    Raises:
        BadData: a task has a class that was not trained on.
        TrialFailure: some logits are not numbers.
    """
    asked = np.unique(np.concatenate([episodes.query.ravel() for episodes in group.values()]))
    asked = asked[asked >= 0]
    unknown = np.setdiff1d(images.pool.labels[asked], classes)
    if len(unknown):
        raise BadData(
            f"Class '{images.pool.class_names[unknown[0]]}' was not trained on, and a classifier "
            "answers among the classes that were: measure it on an in-distribution benchmark."
        )
    right = np.zeros(len(images.pool), bool)
    right[asked] = _right(learner, images, asked, classes)
    return {key: _score(right, episodes) for key, episodes in group.items()}


def _right(
    learner: ClassificationLearner[Any],
    images: PoolImages,
    asked: Int[np.ndarray, " n"],
    classes: Int[np.ndarray, " classes"],
) -> Bool[np.ndarray, " n"]:
    """Whether each image is answered correctly."""
    with torch.inference_mode():
        logits = images.through(learner.classify, asked)
        broken = int((~torch.isfinite(logits)).any(dim=1).sum())
        if broken:
            raise TrialFailure(
                f"the learner's answers to {broken} of {len(asked)} images are not numbers"
            )
        answers = logits.argmax(dim=1).cpu().numpy()
    return classes[answers] == images.pool.labels[asked]


def _score(right: Bool[np.ndarray, " pool"], episodes: Episodes) -> TaskScores:
    real = episodes.query >= 0  # padded places are -1
    correct = (right[episodes.query] & real).sum(axis=(1, 2))
    return TaskScores(correct.astype(np.int64), real.sum(axis=(1, 2)).astype(np.int64))
