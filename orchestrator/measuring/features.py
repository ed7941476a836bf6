"""Features of the images of a pool, embedded once, and answers from them.

An image appears in dozens of tasks. So embedding each image once costs little more than embedding
the pools, and gives the same predictions as embedding each episode separately.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.orchestrator.measuring.frozen import embedded
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import score
from fsl_sweep.orchestrator.records.measures import TaskScores


class PoolFeatures:
    """Features of the images at these sorted pool indices, of a learner in evaluation mode.

    Attributes:
        learner: whose they are.
        features: float32 ``[images, d]``, on the learner's device.
        row_of: int64 ``[pool]``, the row of each pool index, -1 where the image is not embedded.
        images_at_once: how many images the tasks that are answered together have, at most.
    """

    def __init__(
        self,
        learner: EmbeddingLearner[Any],
        images: PoolImages,
        indices: Int[np.ndarray, " images"],
    ) -> None:
        self.learner = learner
        with torch.inference_mode():
            self.features = embedded(learner, images, indices)
        self.row_of = np.full(len(images.pool), -1, np.int64)
        self.row_of[indices] = np.arange(len(indices))
        self.images_at_once = images.at_once.floats // self.features.shape[1]

    def answer(self, tasks: TaskGroup) -> Float[Tensor, "task m way"]:
        """Return the head's logits of the queries of tasks of equal shape."""
        return self.learner.head(self._gathered(tasks.support), self._gathered(tasks.query))

    def score(self, episodes: Episodes) -> TaskScores:
        """Answer the queries of episodes. Raises as `.scoring.score`."""
        with torch.inference_mode():
            return score(self.learner, episodes, self.images_at_once, self.answer)

    def _gathered(self, indices: np.ndarray) -> Tensor:
        return self.features[torch.from_numpy(self.row_of[indices]).to(self.features.device)]


def used(sets: Iterable[Episodes]) -> Int[np.ndarray, " images"]:
    """Return pool indices of all images of the episodes, each once and sorted."""
    parts = [np.unique(part) for e in sets for part in (e.support, e.query)]
    indices = np.unique(np.concatenate(parts))
    return indices[indices >= 0]  # absent classes and queries are padded with -1
