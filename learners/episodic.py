"""Training on episodes: the head that is tested is the head that is trained."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch, RaggedEpisodes


class EpisodicLearner(EmbeddingLearner[EpisodeBatch]):
    """An embedding learner whose training loss is its own head's on sampled episodes.

    Attributes:
        label_smoothing: of the training loss, in [0, 0.5); see `episode_loss`.
    """

    trains_on: ClassVar[TrainsOn] = "episodes"
    takes_ragged: ClassVar[bool] = True
    label_smoothing: float = 0.0

    def training_loss(self, batch: EpisodeBatch | RaggedEpisodes) -> Float[Tensor, ""]:
        """Mean cross-entropy over the tasks; see `episode_loss`."""
        return episode_loss(self, batch, self.label_smoothing)


def episode_loss(
    learner: EmbeddingLearner[Any],
    batch: EpisodeBatch | RaggedEpisodes,
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Mean over tasks of the mean cross-entropy (nats) of a learner's head over their queries.

    Support and query of all tasks go through the backbone together, in one pass: a batch norm then
    normalises both by the same statistics, and the device is used best.

    Args:
        learner: whose `embed` and `head` are used.
        batch: the episodes.
        label_smoothing: target probability taken from the query's class and shared equally by the
            others, in [0, 0.5), as MetaOptNet's released code does. (torch's own option shares it
            among all classes, the query's included.)
    """
    if isinstance(batch, RaggedEpisodes):
        return _ragged_loss(learner, batch, label_smoothing)
    tasks, way, shot = batch.support.shape[:3]
    queries = batch.query.shape[2]
    images = torch.cat([batch.support.flatten(0, 2), batch.query.flatten(0, 2)])
    features = learner.embed(images)
    support, query = features.split([tasks * way * shot, tasks * way * queries])
    logits = learner.head(
        support.reshape(tasks, way, shot, -1), query.reshape(tasks, way * queries, -1)
    )
    labels = query_labels(batch.query)
    spread = label_smoothing * way / (way - 1)
    return cross_entropy(logits.flatten(0, 1), labels, label_smoothing=spread)


def _ragged_loss(
    learner: EmbeddingLearner[Any], batch: RaggedEpisodes, label_smoothing: float
) -> Float[Tensor, ""]:
    """Each task counts alike, whatever its number of queries."""
    features = learner.embed(batch.images)
    losses: list[Tensor] = []
    for group in batch.groups:
        logits = learner.head(features[group.support], features[group.query])  # [task, m, way]
        way = logits.shape[-1]
        spread = label_smoothing * way / (way - 1)
        each = cross_entropy(
            logits.flatten(0, 1), group.target.flatten(), label_smoothing=spread, reduction="none"
        )
        losses.append(each.view(group.target.shape).mean(dim=1))
    return torch.cat(losses).mean()


def query_labels(query: Float[Tensor, "task way query c h w"]) -> Int[Tensor, " n"]:
    """The class of each query image, int64 ``[task * way * query]``, in the images' order."""
    tasks, way, queries = query.shape[:3]
    classes = torch.arange(way, device=query.device)
    return classes.repeat_interleave(queries).repeat(tasks)
