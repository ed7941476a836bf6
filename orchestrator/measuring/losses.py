"""The loss of a snapshot on tasks: what training minimises, without augmentation."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.base import GradientLearner, Learner
from fsl_sweep.learners.batches import EpisodeBatch
from fsl_sweep.learners.episodic import EpisodicLearner, task_losses
from fsl_sweep.orchestrator.errors import TrialFailure
from fsl_sweep.orchestrator.measuring.features import PoolFeatures, used
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import check_one_shape, in_parts

Losses = Float[np.ndarray, " tasks"]


def losses_of(learner: Learner[Any], images: PoolImages, sets: Sequence[Episodes]) -> list[Losses]:
    """Return the loss (nats) of each task, for each of the ``sets``.

    The mean over tasks is the learner's ``training_loss`` in evaluation mode, with its label
    smoothing and its number of inner steps. "Lessons from Chasing Few-Shot Learning Benchmarks"
    evaluates its objectives (1) and (3) so, without augmentation (table 8, figures 4 and 5).

    Args:
        learner: in evaluation mode, trained on episodes.
        images: of the pool that the episodes index.
        sets: the tasks.

    Raises:
        TypeError: the learner has no loss.
        BadData: the shapes of tasks differ and the learner is no `EpisodicLearner`.
        TrialFailure: a loss is not a number.
    """
    if not isinstance(learner, GradientLearner):
        raise TypeError(f"A {type(learner).__name__} has no loss.")
    loss = type(learner).training_loss
    if isinstance(learner, EpisodicLearner) and loss is EpisodicLearner.training_loss:
        # A feature does not depend on the task in evaluation mode: each image is embedded once.
        features = PoolFeatures(learner, images, used(sets))
        each = [_from_features(features, episodes) for episodes in sets]
    else:
        each = [_one_by_one(learner, images, episodes) for episodes in sets]
    if broken := sum(int((~np.isfinite(losses)).sum()) for losses in each):
        raise TrialFailure(f"the learner's losses on {broken} tasks are not numbers")
    return each


def _from_features(features: PoolFeatures, episodes: Episodes) -> Losses:
    smoothing = getattr(features.learner.options, "label_smoothing", 0.0)
    losses = np.empty(len(episodes))
    with torch.inference_mode():
        sizes = features.images_at_once
        for some, logits in in_parts(features.learner, episodes, sizes, features.answer):
            target = torch.from_numpy(some.target).to(logits.device)
            losses[some.tasks] = task_losses(logits, target, smoothing).cpu().numpy()
    return losses


def _one_by_one(learner: GradientLearner[Any], images: PoolImages, episodes: Episodes) -> Losses:
    """Return what the learner computes for each task; of a batch it gives only the mean."""
    check_one_shape(episodes, f"A {type(learner).__name__} has losses")
    losses = np.empty(len(episodes))
    for task in range(len(episodes)):
        indices = episodes.support[task, None], episodes.query[task, None]
        batch = EpisodeBatch(*map(images.ready, indices))
        losses[task] = learner.training_loss(batch).item()
    return losses
