"""Measuring a classifier: each image once, among all base classes; the support is ignored."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Int

from fsl_sweep.learners.base import ClassificationLearner
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import (
    EpisodeSets,
    Results,
    check_numbers,
    check_shape,
)
from fsl_sweep.orchestrator.records.measures import TaskScores


def measure_by_classification(
    learner: ClassificationLearner[Any],
    images: PoolImages,
    sets: EpisodeSets,
    classes: Int[np.ndarray, " classes"],
) -> Results:
    """Return per-task results on episodes of one pool, of a learner in evaluation mode.

    Args:
        learner: answers among ``classes``.
        images: of the pool that the episodes index.
        sets: the episodes.
        classes: the pool's labels of the classes that were trained on, sorted.

    Raises:
        BadData: a task has a class that was not trained on.
        TrialFailure: as `check_shape` and `check_numbers`.
    """
    pool = images.pool
    queries = np.unique(np.concatenate([episodes.query.ravel() for episodes in sets.values()]))
    queries = queries[queries >= 0]  # padded places are -1
    unknown = np.setdiff1d(pool.labels[queries], classes)
    if len(unknown):
        raise BadData(
            f"Class '{pool.class_names[unknown[0]]}' was not trained on, and a classifier "
            "answers among the classes that were: measure it on an in-distribution benchmark."
        )
    with torch.inference_mode():
        logits = images.through(learner.classify, queries)
    check_shape(logits, (len(queries), len(classes)), learner)
    check_numbers(logits, "images")
    after = np.zeros(len(pool), np.uint16)
    target = np.searchsorted(classes, pool.labels[queries])
    after[queries] = (logits.argmax(dim=1).cpu().numpy() - target) % len(classes)
    scores: Results = {}
    for key, episodes in sets.items():
        real = episodes.query >= 0
        counts = real.sum(axis=(1, 2), dtype=np.int64)
        scores[key] = TaskScores.of_answers(after[episodes.query[real]], counts)
    return scores
