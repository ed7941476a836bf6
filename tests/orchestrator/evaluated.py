"""Learners that are built for a made benchmark, and measured on its common tasks."""

from dataclasses import replace

import numpy as np
import torch
from made import TASKS, main_of

from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.records.protocol import MAIN, Tasks

CPU = torch.device("cpu")
CONV = {"name": "conv4", "width": 8}
NOVEL = "novel", "report"


def built(data, name, classes=12, backbone=CONV, **options):
    """A learner in evaluation mode, on a small network, for the images of a benchmark."""
    learner = {"name": name, **options}
    return build_learner(learner, backbone, data.image_shape, classes, 0).eval()


def main(data, selection=TASKS, report=TASKS, **changes):
    """The main protocol on a benchmark, with so many tasks."""
    tasks = Tasks(selection_tasks=selection, report_tasks=report)
    return main_of(data, tasks=tasks, **changes)


def drawn(data, selection=TASKS, report=TASKS, **changes):
    """Its common tasks."""
    return CommonTasks.draw(data, main(data, selection, report, **changes).protocol)


def only(tasks, key, episodes=None):
    """One set of common tasks, or these episodes in its place."""
    return replace(tasks, episodes={key: tasks.episodes[key] if episodes is None else episodes})


def measured(data, tasks, learner):
    """A learner's results on common tasks."""
    return Evaluator(data, {MAIN: tasks}, CPU).measure(learner)[MAIN]


def counts(scores):
    """The correct answers to each task, by set of tasks."""
    return {key: of.correct.tolist() for key, of in scores.items()}


def images_by_hand(data, pool, indices):
    """Images of a pool, normalised by the statistics of a benchmark."""
    mean, std = (np.array(part).reshape(-1, 1, 1) for part in (data.pixel_mean, data.pixel_std))
    return torch.tensor((pool.images[indices] / 255 - mean) / std, dtype=torch.float32)


def surely_above(scores, bound):
    """Whether the mean accuracy is above a bound by two standard errors."""
    accuracy = scores.accuracy
    return accuracy.mean() - 2 * accuracy.std(ddof=1) / np.sqrt(len(accuracy)) > bound
