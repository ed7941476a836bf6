"""Measuring a snapshot on the common tasks, each kind of learner in its own way."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup
from fsl_sweep.learners.base import (
    AdaptationLearner,
    ClassificationLearner,
    EmbeddingLearner,
    Learner,
)
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.metadl.meta_dataset import ProgramTask
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.features import PoolFeatures, used
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import (
    check_numbers,
    check_one_shape,
    check_scorable,
    check_shape,
    score,
)
from fsl_sweep.orchestrator.records.measures import ScoreKey, TaskScores

Results = dict[Hashable, TaskScores]
"""Results on sets of episodes, by any key."""


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
    ) -> dict[str, dict[ScoreKey, TaskScores]]:
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
    learner: Learner[Any],
    images: PoolImages,
    sets: Mapping[Hashable, Episodes],
    base_classes: np.ndarray,
) -> Results:
    """Return per-task results on episodes of one pool, of a learner in evaluation mode.

    ``base_classes`` are the pool's labels that were trained on, sorted, which a classifier answers
    among.

    Raises:
        TypeError: the learner is of a kind that cannot be measured.
        BadData: as `check_scorable`; a classifier was not trained on a class of a task; or the
            tasks of a program are not of one shape.
        TrialFailure: as `check_shape` and `check_numbers`; or a program failed.
    """
    if isinstance(learner, EmbeddingLearner):
        features = PoolFeatures(learner, images, used(sets.values()))
        return {key: features.score(episodes) for key, episodes in sets.items()}
    if isinstance(learner, AdaptationLearner):
        return {key: _by_adaptation(learner, images, e) for key, e in sets.items()}
    if isinstance(learner, ClassificationLearner):
        return _by_classification(learner, images, sets, base_classes)
    if isinstance(learner, Metadl):
        return {key: _by_program(learner, images, e) for key, e in sets.items()}
    raise TypeError(f"A {type(learner).__name__} is of no kind that can be measured.")


def labels_of(
    scores: TaskScores, learner: str, episodes: Episodes, base_classes: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return the pool's labels that answers to all queries stand for, in their order.

    Args:
        scores: with the answers to the queries of ``episodes``.
        learner: the name of the learner whose answers they are.
        episodes: whose classes are the pool's labels.
        base_classes: as of ``answered``.

    Returns:
        The labels, and whether they are any of the base classes: a classifier knows no task.
    """
    assert scores.answers is not None, "each query has an answer"
    after, (task, place, _) = scores.answers.astype(np.int64), np.nonzero(episodes.query >= 0)
    if issubclass(LEARNERS.find(learner).cls, ClassificationLearner):
        target = np.searchsorted(base_classes, episodes.classes[task, place])
        return base_classes[(target + after) % len(base_classes)], True
    there = episodes.classes >= 0
    ways = there.sum(axis=1)
    first, target = np.cumsum(ways) - ways, (there.cumsum(axis=1) - 1)[task, place]
    return episodes.classes[there][first[task] + (target + after) % ways[task]], False


def _by_adaptation(
    learner: AdaptationLearner[Any], images: PoolImages, episodes: Episodes
) -> TaskScores:
    """Answer a few tasks at a time on their images: each has weights of its own."""

    def answer(tasks: TaskGroup) -> Tensor:
        return learner.predict(images.ready(tasks.support), images.ready(tasks.query))

    # Not inference mode: the adaptation could not differentiate its tensors.
    with torch.no_grad():
        return score(learner, episodes, images.at_once.adapted, answer)


def _by_classification(
    learner: ClassificationLearner[Any],
    images: PoolImages,
    sets: Mapping[Hashable, Episodes],
    classes: np.ndarray,
) -> Results:
    """Classify each image once, among all base classes; the support is ignored."""
    pool = images.pool
    queries = np.unique(np.concatenate([episodes.query.ravel() for episodes in sets.values()]))
    queries = queries[queries >= 0]  # padded places are -1
    unknown = np.setdiff1d(pool.labels[queries], classes)
    if len(unknown):
        raise BadData(
            f"Class '{pool.class_names[unknown[0]]}' was not trained on, and a classifier "
            "answers among the classes that were: measure it on an in-distribution benchmark."
        )
    with torch.inference_mode():
        logits = images.through(learner.classify, queries)
    check_shape(logits, (len(queries), len(classes)), learner)
    check_numbers(logits, "images")
    after = np.zeros(len(pool), np.uint16)
    target = np.searchsorted(classes, pool.labels[queries])
    after[queries] = (logits.argmax(dim=1).cpu().numpy() - target) % len(classes)
    scores: Results = {}
    for key, episodes in sets.items():
        real = episodes.query >= 0
        counts = real.sum(axis=(1, 2), dtype=np.int64)
        scores[key] = TaskScores.of_answers(after[episodes.query[real]], counts)
    return scores


def _by_program(learner: Metadl, images: PoolImages, episodes: Episodes) -> TaskScores:
    """Ask a program about each task, all of one shape, with images as it was trained on."""
    check_scorable(episodes)
    check_one_shape(episodes, f"A {type(learner).__name__} is measured")
    tasks, way, each = episodes.query.shape
    labels = np.arange(way).repeat(each)
    after = np.zeros((tasks, way * each), np.uint16)
    for task, answer in enumerate(learner.answers(_program_tasks(images, episodes))):
        order = _order(task, way * each)
        after[task, order] = (answer - labels[order]) % way
    return TaskScores.of_answers(after.ravel(), np.full(tasks, way * each, np.int64))


def _program_tasks(images: PoolImages, episodes: Episodes) -> Iterator[ProgramTask]:
    for task, (support, query) in enumerate(zip(episodes.support, episodes.query, strict=True)):
        shuffled = query.ravel()[_order(task, query.size)]
        yield ProgramTask.of(images.unit(support), images.unit(shuffled), seed=task)


def _order(task: int, queries: int) -> np.ndarray:
    """Return the order of a task's queries: sorted by class, it would reveal the answers."""
    return np.random.default_rng(task).permutation(queries)
