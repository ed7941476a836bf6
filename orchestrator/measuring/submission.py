"""Measuring a submission: its own answers to each task, from images as it was trained on."""

from collections.abc import Iterator

import numpy as np

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.metadl.meta_dataset import (
    ProgramTask,
    QuerySet,
    SupportSet,
    challenge_images,
)
from fsl_sweep.orchestrator.errors import BadData
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.scoring import EpisodeSets, Results, check_scorable
from fsl_sweep.orchestrator.records.measures import TaskScores


def measure_by_submission(learner: Metadl, images: PoolImages, sets: EpisodeSets) -> Results:
    """Return per-task results on episodes of one pool, all of one shape.

    Raises:
        BadData: as `check_scorable`, or the shapes differ.
        TrialFailure: as `SubmissionRun.answers`.
    """
    return {key: _score(learner, images, episodes) for key, episodes in sets.items()}


def _score(learner: Metadl, images: PoolImages, episodes: Episodes) -> TaskScores:
    check_scorable(episodes)
    if min(episodes.support.min(), episodes.query.min()) < 0:
        raise BadData(
            f"A {type(learner).__name__} is measured on tasks of one shape; these tasks have "
            "different numbers of classes or examples."
        )
    tasks, way, each = episodes.query.shape
    labels = np.arange(way).repeat(each)
    answers = learner.answers(_tasks(images, episodes))
    after = np.zeros((tasks, way * each), np.uint16)
    for task, answer in enumerate(answers):
        order = _order(task, way * each)
        after[task, order] = (answer - labels[order]) % way
    return TaskScores.of_answers(after.ravel(), np.full(tasks, way * each, np.int64))


def _tasks(images: PoolImages, episodes: Episodes) -> Iterator[ProgramTask]:
    _, way, shot = episodes.support.shape
    for task, (support, query) in enumerate(zip(episodes.support, episodes.query, strict=True)):
        shuffled = query.ravel()[_order(task, query.size)]
        examples, queries = (
            challenge_images(images.unit(part)) for part in (support.ravel(), shuffled)
        )
        labels = np.arange(way).repeat(shot)
        yield ProgramTask(SupportSet(examples, labels), QuerySet(queries), way, seed=task)


def _order(task: int, queries: int) -> np.ndarray:
    """Return the order of a task's queries: sorted by class, it would reveal the answers."""
    return np.random.default_rng(task).permutation(queries)
