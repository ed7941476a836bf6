"""Measuring a snapshot on the common tasks, each kind of learner in its own way."""

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
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
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, Results, ScoreSets
from fsl_sweep.orchestrator.measuring.submission import measure_by_submission


class Evaluator:
    """Measures snapshots under one or more protocols.

    An image is embedded once for a snapshot, and equal tasks of two protocols are answered once.

    Args:
        benchmark: that was trained on: its statistics normalise the images of all protocols.
        tasks: the common tasks of each protocol.
        device: of the learners.
    """

    def __init__(
        self, benchmark: Benchmark, tasks: Mapping[str, CommonTasks], device: torch.device
    ) -> None:
        self._base_classes = benchmark.train.classes
        self._tasks = tasks
        pools = {p.fingerprint: p for common in tasks.values() for p in common.pools.values()}
        # Splits and protocols may share a pool: its images are then embedded once for all of them.
        self._pools = {key: PoolImages(p, benchmark, device) for key, p in pools.items()}

    def measure(
        self, learner: Learner[Any], protocols: Collection[str] | None = None
    ) -> dict[str, ScoreSets]:
        """Return per-task results of the learner as it is, in evaluation mode, by protocol.

        Args:
            learner: the snapshot.
            protocols: which; all by default.

        Raises:
            TypeError: the learner is of a kind that cannot be measured.
        """
        by_protocol = {name: self._tasks[name] for name in protocols or self._tasks}
        draws: dict[str, dict[Hashable, Episodes]] = {}
        for tasks in by_protocol.values():
            for key, episodes in tasks.episodes.items():
                pool = tasks.pools[key[0]].fingerprint
                draws.setdefault(pool, {})[tasks.draws[key]] = episodes
        before = learner.training
        learner.eval()
        scores: Results = {}
        try:
            for pool, sets in draws.items():
                scores |= answered(learner, self._pools[pool], sets, self._base_classes)
        finally:
            learner.train(before)
        return {
            name: {key: scores[tasks.draws[key]] for key in tasks.episodes}
            for name, tasks in by_protocol.items()
        }


def answered(
    learner: Learner[Any], images: PoolImages, sets: EpisodeSets, base_classes: np.ndarray
) -> Results:
    """Return per-task results on episodes of one pool, of a learner in evaluation mode.

    ``base_classes`` are the pool's labels that were trained on, which a classifier answers among.

    Raises:
        TypeError: the learner is of a kind that cannot be measured.
    """
    if isinstance(learner, EmbeddingLearner):
        return measure_by_embedding(learner, images, sets)
    if isinstance(learner, AdaptationLearner):
        return measure_by_adaptation(learner, images, sets)
    if isinstance(learner, ClassificationLearner):
        return measure_by_classification(learner, images, sets, base_classes)
    if isinstance(learner, Metadl):
        return measure_by_submission(learner, images, sets)
    raise TypeError(f"A {type(learner).__name__} is of no kind that can be measured.")
