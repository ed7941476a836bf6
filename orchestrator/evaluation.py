"""Measuring a snapshot on the common tasks, each kind of learner in the way that suits it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.datasets.tasks import common_tasks
from fsl_sweep.learners.base import (
    AdaptationLearner,
    ClassificationLearner,
    EmbeddingLearner,
    Learner,
    ProgramLearner,
)
from fsl_sweep.orchestrator.by_adaptation import measure_by_adaptation
from fsl_sweep.orchestrator.by_classification import measure_by_classification
from fsl_sweep.orchestrator.by_embedding import measure_by_embedding
from fsl_sweep.orchestrator.by_program import measure_by_program
from fsl_sweep.orchestrator.config import Episode, Evaluation, episode_shape
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import MEASURES, TASK_SETS, Measure, TaskScores, TaskSet


@dataclass(frozen=True)
class CommonTasks:
    """The evaluation episodes of every measure and task set; the same for every trial."""

    episodes: Mapping[tuple[Measure, TaskSet], Episodes]

    @classmethod
    def draw(cls, benchmark: Benchmark, episode: Episode, evaluation: Evaluation) -> "CommonTasks":
        """Draw them: a function of the benchmark's content and these settings alone."""
        shape = episode_shape(episode)
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
        self._base_classes = benchmark.train.classes
        # Splits may share one pool: its images are then embedded once for all of them.
        pools = {m: benchmark.distribution(m).pool for m in MEASURES}
        self._pools = {id(pool): PoolImages(pool, benchmark, device) for pool in pools.values()}
        self._groups: dict[int, dict[tuple[Measure, TaskSet], Episodes]] = {}
        for (measure, task_set), episodes in tasks.episodes.items():
            group = self._groups.setdefault(id(pools[measure]), {})
            group[measure, task_set] = episodes

    def measure(self, learner: Learner[Any]) -> dict[tuple[Measure, TaskSet], TaskScores]:
        """Per-task results of the learner as it is, in evaluation mode.

        Raises:
            TypeError: the learner is of a kind that cannot be measured.
        """
        before = learner.training
        learner.eval()
        scores: dict[tuple[Measure, TaskSet], TaskScores] = {}
        try:
            for pool, group in self._groups.items():
                scores.update(self._measured(learner, self._pools[pool], group))
        finally:
            learner.train(before)
        return scores

    def _measured(
        self,
        learner: Learner[Any],
        images: PoolImages,
        group: Mapping[tuple[Measure, TaskSet], Episodes],
    ) -> dict[tuple[Measure, TaskSet], TaskScores]:
        if isinstance(learner, EmbeddingLearner):
            return measure_by_embedding(learner, images, group)
        if isinstance(learner, AdaptationLearner):
            return measure_by_adaptation(learner, images, group)
        if isinstance(learner, ClassificationLearner):
            return measure_by_classification(learner, images, group, self._base_classes)
        if isinstance(learner, ProgramLearner):
            return measure_by_program(learner, images, group)
        raise TypeError(
            f"A {type(learner).__name__} can neither embed images nor adapt to tasks, and it is "
            "no classifier and no program."
        )
