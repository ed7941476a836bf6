"""Features of the images of a pool, embedded once, and answers from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import check_shape, score
from fsl_sweep.orchestrator.records.measures import TaskScores


@dataclass(frozen=True, eq=False)
class PoolFeatures:
    """Features of some images of a pool, of a learner in evaluation mode.

    Attributes:
        features: of the images, on the learner's device.
        row_of: the row of each pool index, -1 where the image is not embedded.
    """

    learner: EmbeddingLearner[Any]
    features: Float[Tensor, "images d"]
    row_of: Int[np.ndarray, " pool"]
    floats_at_once: int

    @classmethod
    def embedded(
        cls, learner: EmbeddingLearner[Any], images: PoolImages, indices: Int[np.ndarray, " images"]
    ) -> "PoolFeatures":
        """Embed the images at these pool indices, each once and sorted."""
        with torch.inference_mode():
            features = images.through(learner.embed, indices).float()
        row_of = np.full(len(images.pool), -1, np.int64)
        row_of[indices] = np.arange(len(indices))
        return cls(learner, features, row_of, images.at_once.floats)

    @property
    def images_at_once(self) -> int:
        """Return how many images the tasks that are answered together have, at most."""
        return self.floats_at_once // self.features.shape[1]

    def answer(self, tasks: TaskGroup) -> Float[Tensor, "task m way"]:
        """Return the head's logits of the queries of tasks of equal shape."""
        logits = self.learner.head(self._gathered(tasks.support), self._gathered(tasks.query))
        check_shape(logits, tasks.answers, self.learner)
        return logits

    def score(self, episodes: Episodes) -> TaskScores:
        """Answer the queries of episodes. Raises as `.scoring.score`."""
        with torch.inference_mode():
            return score(episodes, self.images_at_once, self.answer)

    def _gathered(self, indices: np.ndarray) -> Tensor:
        return self.features[torch.from_numpy(self.row_of[indices]).to(self.features.device)]
