"""What can be scored, and from logits to counts of correct answers."""

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from fsl_sweep.datasets.episodes import Episodes
from fsl_sweep.orchestrator.errors import BadData, TrialFailure


def check_scorable(episodes: Episodes) -> None:
    """Whether answers to the episodes mean anything.

    Raises:
        BadData: there are tasks of one class alone, which any answer would hit, of classes without
            a support example, or without a query.
    """
    support, query = episodes.support, episodes.query
    if support.shape[1] < 2 or 0 in (*support.shape, *query.shape):
        raise BadData(
            "A task needs at least 2 classes with a support example and a query each; these have "
            f"support {list(support.shape)} and query {list(query.shape)} (tasks, classes, each)."
        )
    real = np.all(support >= 0, axis=2)  # absent classes are padded with -1
    halved = np.any(np.any(support >= 0, axis=2) & ~real, axis=1)
    broken = halved | (np.sum(real, axis=1) < 2) | ~np.any(query >= 0, axis=(1, 2))
    if broken.any():
        raise BadData(
            f"Task {int(np.argmax(broken))} lacks a second class, a support example or a query "
            f"({int(broken.sum())} of {len(broken)} tasks do)."
        )


def check_one_shape(learner: object, episodes: Episodes) -> None:
    """Whether the episodes are one block of images, for learners that need such.

    Raises:
        BadData: the tasks differ in their number of classes or examples.
    """
    if min(episodes.support.min(), episodes.query.min()) < 0:
        raise BadData(
            f"A {type(learner).__name__} is measured on tasks of one shape; these tasks have "
            "different numbers of classes or examples."
        )


def correct_counts(
    logits: Float[Tensor, "task m way"], target: Int[Tensor, "task m"]
) -> Int[np.ndarray, " task"]:
    """Correctly answered queries of each task.

    Raises:
        TrialFailure: some logits are not numbers. Their largest would still be some class, and a
            learner that has broken down would pass for one that guesses.
    """
    broken = int((~torch.isfinite(logits)).flatten(1).any(dim=1).sum())
    if broken:
        raise TrialFailure(
            f"the learner's answers to {broken} of {len(logits)} tasks are not numbers"
        )
    return (logits.argmax(dim=-1) == target).sum(dim=1).cpu().numpy()
