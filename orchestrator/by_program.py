"""Measuring a program: its own answers to each task, from images as it was trained on."""

from collections.abc import Iterator, Mapping

import numpy as np

from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.learners.base import ProgramLearner
from fsl_sweep.learners.meta_dataset import ProgramTask, QuerySet, SupportSet, challenge_images
from fsl_sweep.orchestrator.images import PoolImages
from fsl_sweep.orchestrator.records import Measure, TaskScores, TaskSet
from fsl_sweep.orchestrator.scoring import check_one_shape, check_scorable


def measure_by_program(
    learner: ProgramLearner,
    images: PoolImages,
    group: Mapping[tuple[Measure, TaskSet], Episodes],
) -> dict[tuple[Measure, TaskSet], TaskScores]:
    """Per-task results on episodes of one pool.

    Raises:
        TrialFailure: the program failed, or its answers are not answers.
        BadData: as `check_scorable` and `check_one_shape`.
    """
    return {key: _score(learner, images, episodes) for key, episodes in group.items()}


def _score(learner: ProgramLearner, images: PoolImages, episodes: Episodes) -> TaskScores:
    check_scorable(episodes)
    check_one_shape(learner, episodes)
    tasks, way, _ = episodes.support.shape
    queries = way * episodes.query.shape[2]
    labels = np.arange(way).repeat(episodes.query.shape[2])
    answers = learner.answers(_tasks(images, episodes))
    correct = [
        np.sum(answer == labels[_order(task, queries)]) for task, answer in enumerate(answers)
    ]
    return TaskScores(np.array(correct, np.int64), np.full(tasks, queries, np.int64))


def _tasks(images: PoolImages, episodes: Episodes) -> Iterator[ProgramTask]:
    _, way, shot = episodes.support.shape
    for task, (support, query) in enumerate(zip(episodes.support, episodes.query, strict=True)):
        shuffled = query.ravel()[_order(task, query.size)]
        yield ProgramTask(
            SupportSet(_images(images, support.ravel()), np.arange(way).repeat(shot)),
            QuerySet(_images(images, shuffled)),
            way,
            seed=task,
        )


def _order(task: int, queries: int) -> np.ndarray:
    """The order in which a task's queries are asked: sorted by class, it would tell the answers."""
    return np.random.default_rng(task).permutation(queries)


def _images(images: PoolImages, indices: np.ndarray) -> np.ndarray:
    return challenge_images(images.unit(indices))
