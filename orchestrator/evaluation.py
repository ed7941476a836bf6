"""Measuring a snapshot on the common tasks.

An embedding learner is measured by embedding each image that the tasks touch once, and working in
feature space from there: an image appears in dozens of tasks, so this costs little more than
embedding the pools (measured in ``benchmarks/``), and gives the same predictions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.episodes import Episodes, EpisodeShape
from fsl_sweep.datasets.tasks import common_tasks
from fsl_sweep.learners.base import EmbeddingLearner, Learner
from fsl_sweep.orchestrator.config import Episode, Evaluation
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import MEASURES, TASK_SETS, Measure, TaskScores, TaskSet

IMAGES_AT_ONCE = 512
# Query features gathered at once, in floats: bounds memory at about 128 MB.
_FLOATS_AT_ONCE = 2**25


@dataclass(frozen=True)
class CommonTasks:
    """The evaluation episodes of every measure and task set; the same for every trial."""

    episodes: Mapping[tuple[Measure, TaskSet], Episodes]

    @classmethod
    def draw(cls, benchmark: Benchmark, episode: Episode, evaluation: Evaluation) -> "CommonTasks":
        """Draw them: a function of the benchmark's content and these settings alone."""
        shape = EpisodeShape(episode.way, episode.shot, episode.query)
        count = {"selection": evaluation.selection_tasks, "report": evaluation.report_tasks}
        return cls(
            {
                (m, s): common_tasks(benchmark, m, s, count[s], shape, evaluation.seed)
                for m in MEASURES
                for s in TASK_SETS
            }
        )


class Evaluator:
    """Measures snapshots on one benchmark's common tasks."""

    def __init__(self, benchmark: Benchmark, tasks: CommonTasks, device: torch.device) -> None:
        self.device = device
        # Splits may share one pool: its images are then embedded once for all of them.
        pools = {m: benchmark.distribution(m).pool for m in MEASURES}
        self._pools = {id(pool): PoolImages(pool, benchmark, device) for pool in pools.values()}
        self._groups: dict[int, dict[tuple[Measure, TaskSet], Episodes]] = {}
        for (measure, task_set), episodes in tasks.episodes.items():
            group = self._groups.setdefault(id(pools[measure]), {})
            group[measure, task_set] = episodes

    def measure(self, learner: Learner) -> dict[tuple[Measure, TaskSet], TaskScores]:
        """Per-task results of the learner as it is, in evaluation mode.

        Raises:
            TypeError: the learner is of a kind that cannot be measured.
        """
        if not isinstance(learner, EmbeddingLearner):
            raise TypeError(f"A {type(learner).__name__} has no embedding to measure.")
        before = learner.training
        learner.eval()
        scores: dict[tuple[Measure, TaskSet], TaskScores] = {}
        try:
            with torch.inference_mode():
                for pool, group in self._groups.items():
                    features, row_of = self._embed(learner, self._pools[pool], group.values())
                    for key, episodes in group.items():
                        scores[key] = _score(learner, features, row_of, episodes)
        finally:
            learner.train(before)
        return scores

    def _embed(
        self, learner: EmbeddingLearner, images: PoolImages, episodes: Iterable[Episodes]
    ) -> tuple[Tensor, np.ndarray]:
        """Features ``[M, d]`` of every image that the tasks touch, and each pool index's row."""
        touched = [np.unique(part) for e in episodes for part in (e.support, e.query)]
        indices = np.unique(np.concatenate(touched))
        indices = indices[indices >= 0]
        parts = [
            learner.embed(images.normalised(images.unit(indices[start : start + IMAGES_AT_ONCE])))
            for start in range(0, len(indices), IMAGES_AT_ONCE)
        ]
        row_of = np.full(images.pool.images.shape[0], -1, np.int64)
        row_of[indices] = np.arange(len(indices))
        return torch.cat(parts).float(), row_of


def _score(
    learner: EmbeddingLearner, features: Tensor, row_of: np.ndarray, episodes: Episodes
) -> TaskScores:
    tasks, way, shot = episodes.support.shape
    query = episodes.query.shape[2]
    per_task = way * (shot + query) * features.shape[1]
    step = max(1, _FLOATS_AT_ONCE // per_task)
    target = torch.arange(way, device=features.device).repeat_interleave(query)
    correct: list[np.ndarray] = []
    for start in range(0, tasks, step):
        chosen = slice(start, start + step)
        support = _gather(features, row_of[episodes.support[chosen]])
        queries = _gather(features, row_of[episodes.query[chosen]]).flatten(1, 2)
        predicted = learner.head(support, queries).argmax(dim=-1)  # [task, way * query]
        correct.append((predicted == target).sum(dim=1).cpu().numpy())
    return TaskScores(
        np.concatenate(correct).astype(np.int64), np.full(tasks, way * query, np.int64)
    )


def _gather(features: Tensor, rows: np.ndarray) -> Tensor:
    index = torch.from_numpy(rows).to(features.device)
    return features[index]
