"""Measuring a snapshot on the common tasks, each kind of learner in its own way."""

from typing import Any

import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.base import (
    AdaptationLearner,
    ClassificationLearner,
    EmbeddingLearner,
    Learner,
)
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.orchestrator.measuring.classification import measure_by_classification
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.few_shot import measure_by_adaptation, measure_by_embedding
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.program import measure_by_program
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, ScoreSets
from fsl_sweep.orchestrator.records.measures import MEASURES, Measure, TaskSet


class Evaluator:
    """Measures snapshots on one benchmark's common tasks."""

    def __init__(self, benchmark: Benchmark, tasks: CommonTasks, device: torch.device) -> None:
        self._base_classes = benchmark.train.classes
        # Splits may share one pool: its images are then embedded once for all of them.
        pools = {m: benchmark.distribution(m).pool for m in MEASURES}
        self._pools = {id(pool): PoolImages(pool, benchmark, device) for pool in pools.values()}
        self._sets: dict[int, dict[tuple[Measure, TaskSet], Episodes]] = {}
        for (measure, task_set), episodes in tasks.episodes.items():
            self._sets.setdefault(id(pools[measure]), {})[measure, task_set] = episodes

    def measure(self, learner: Learner[Any]) -> ScoreSets:
        """Per-task results of the learner as it is, in evaluation mode.

        Raises:
            TypeError: the learner is of a kind that cannot be measured.
        """
        before = learner.training
        learner.eval()
        scores: ScoreSets = {}
        try:
            for pool, sets in self._sets.items():
                scores.update(self._measured(learner, self._pools[pool], sets))
        finally:
            learner.train(before)
        return scores

    def _measured(self, learner: Learner[Any], images: PoolImages, sets: EpisodeSets) -> ScoreSets:
        if isinstance(learner, EmbeddingLearner):
            return measure_by_embedding(learner, images, sets)
        if isinstance(learner, AdaptationLearner):
            return measure_by_adaptation(learner, images, sets)
        if isinstance(learner, ClassificationLearner):
            return measure_by_classification(learner, images, sets, self._base_classes)
        if isinstance(learner, Metadl):
            return measure_by_program(learner, images, sets)
        raise TypeError(f"A {type(learner).__name__} is of no kind that can be measured.")
