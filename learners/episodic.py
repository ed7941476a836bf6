"""Training on episodes: the head that is tested is the head that is trained."""

from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch


class EpisodicLearner(EmbeddingLearner[EpisodeBatch]):
    """An embedding learner whose training loss is its own head's on sampled episodes."""

    trains_on: ClassVar[TrainsOn] = "episodes"

    def training_loss(self, batch: EpisodeBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy over the queries of all tasks.

        Support and query of all tasks go through the backbone together, in one pass: a batch
        norm then normalises both by the same statistics, and the device is used best.
        """
        tasks, way, shot = batch.support.shape[:3]
        queries = batch.query.shape[2]
        images = torch.cat([batch.support.flatten(0, 2), batch.query.flatten(0, 2)])
        features = self.embed(images)
        support, query = features.split([tasks * way * shot, tasks * way * queries])
        logits = self.head(
            support.reshape(tasks, way, shot, -1), query.reshape(tasks, way * queries, -1)
        )
        return cross_entropy(logits.flatten(0, 1), query_labels(batch.query))


def query_labels(query: Float[Tensor, "task way query c h w"]) -> Int[Tensor, " n"]:
    """The class of each query image, int64 ``[task * way * query]``, in the images' order."""
    tasks, way, queries = query.shape[:3]
    classes = torch.arange(way, device=query.device)
    return classes.repeat_interleave(queries).repeat(tasks)
