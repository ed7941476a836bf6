"""The loss of a snapshot on tasks: what training minimises, without augmentation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.base import AdaptationLearner, EmbeddingLearner, Learner
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.episodic import task_losses
from fsl_sweep.orchestrator.errors import TrialFailure
from fsl_sweep.orchestrator.measuring.features import PoolFeatures
from fsl_sweep.orchestrator.measuring.few_shot import used
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import in_parts

Losses = Float[np.ndarray, " tasks"]


def losses_of(learner: Learner[Any], images: PoolImages, sets: Sequence[Episodes]) -> list[Losses]:
    """Mean cross-entropy (nats) over the queries of each task, for each of the ``sets``.

    The mean over tasks is the learner's ``training_loss`` in evaluation mode, with its label
    smoothing and its number of inner steps. "Lessons from Chasing Few-Shot Learning Benchmarks"
    evaluates its objectives (1) and (3) so, without augmentation (table 8, figures 4 and 5). In
    evaluation mode a feature does not depend on the task, so that each image is embedded once.

    Args:
        learner: in evaluation mode, trained on episodes.
        images: of the pool that the episodes index.
        sets: the tasks, of one shape for an `AdaptationLearner`.

    Raises:
        TypeError: the learner is of a kind that has no loss on tasks.
        BadData: as `fsl_sweep.orchestrator.measuring.scoring.check_scorable`.
        TrialFailure: a loss is not a number.
    """
    if isinstance(learner, EmbeddingLearner):
        features = PoolFeatures.embedded(learner, images, used(sets))
        found = [_from_features(features, episodes) for episodes in sets]
    elif isinstance(learner, AdaptationLearner):
        found = [_by_adaptation(learner, images, episodes) for episodes in sets]
    else:
        raise TypeError(f"A {type(learner).__name__} has no loss on tasks.")
    if broken := sum(int((~np.isfinite(losses)).sum()) for losses in found):
        raise TrialFailure(f"the learner's losses on {broken} tasks are not numbers")
    return found


def _from_features(features: PoolFeatures, episodes: Episodes) -> Losses:
    smoothing = getattr(features.learner.options, "label_smoothing", 0.0)
    losses = np.empty(len(episodes))
    with torch.inference_mode():
        for some, logits in in_parts(episodes, features.images_at_once, features.answer):
            target = torch.from_numpy(some.target).to(logits.device)
            losses[some.tasks] = task_losses(logits, target, smoothing).cpu().numpy()
    return losses


def _by_adaptation(
    learner: AdaptationLearner[Any], images: PoolImages, episodes: Episodes
) -> Losses:
    """Task by task, since a batch has only the mean of its tasks."""
    losses = np.empty(len(episodes))
    for task in range(len(episodes)):
        one = episodes[task : task + 1]
        parts = (images.normalised(images.unit(part)) for part in (one.support, one.query))
        losses[task] = learner.training_loss(EpisodeBatch(*parts)).item()
    return losses
