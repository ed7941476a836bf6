"""What can be scored, and from logits to counts of correct answers."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import TaskGroup, grouped
from fsl_sweep.orchestrator.errors import BadData, Diverged, TrialFailure
from fsl_sweep.orchestrator.records.measures import TaskScores


def check_scorable(episodes: Episodes) -> None:
    """Raise BadData if there are tasks of only one class, which any answer would hit."""
    alone = int(np.sum(np.sum(episodes.classes >= 0, axis=1) < 2))
    if alone:
        raise BadData(f"A task needs at least 2 classes; {alone} of {len(episodes)} have fewer.")


def check_one_shape(episodes: Episodes, measured: str) -> None:
    """Raise BadData if anything is padded; ``measured`` begins the message: "A Maml has losses"."""
    if min(episodes.support.min(), episodes.query.min()) < 0:
        raise BadData(
            f"{measured} on tasks of one shape; these tasks have different numbers of classes or "
            "examples."
        )


Answer = Callable[[TaskGroup], Float[Tensor, "task m way"]]
"""From tasks of equal shape to the logits of their queries."""


def score(learner: object, episodes: Episodes, images: int, answer: Answer) -> TaskScores:
    """Answer the queries of each task. Arguments and exceptions as of `in_parts`."""
    queries = np.sum(episodes.query >= 0, axis=(1, 2))
    first = np.cumsum(queries) - queries
    answers = np.zeros(queries.sum(), np.uint16)
    for some, logits in in_parts(learner, episodes, images, answer):
        after = logits.argmax(dim=-1).cpu().numpy() - some.target
        places = first[some.tasks][:, None] + np.arange(some.query.shape[1])
        answers[places] = after % logits.shape[-1]
    return TaskScores.of_answers(answers, queries)


def in_parts(
    learner: object, episodes: Episodes, images: int, answer: Answer
) -> Iterator[tuple[TaskGroup, Float[Tensor, "task m way"]]]:
    """Yield every task once, a few of equal shape at a time, with the logits of their queries.

    Args:
        learner: whose answers they are, for messages.
        episodes: the tasks.
        images: support and query images of the tasks that are answered together, at most; a task
            that has more is answered by itself.
        answer: gives the logits.

    Raises:
        BadData: as `check_scorable`.
        TrialFailure: as `check_shape` and `check_numbers`.
    """
    check_scorable(episodes)
    for group in grouped(episodes):
        step = max(1, images // (group.support[0].size + group.query.shape[1]))
        for start in range(0, len(group), step):
            some = group[start : start + step]
            logits = answer(some)
            check_shape(logits, some.answers, learner)
            check_numbers(logits, "tasks")
            yield some, logits


def check_shape(logits: Tensor, wanted: tuple[int, ...], learner: object) -> None:
    """Raise TrialFailure unless there is one logit for each query (or image) and class.

    One for a class that a task has not could win, and would be counted as another class.
    """
    if logits.shape != wanted:
        raise TrialFailure(
            f"{type(learner).__name__} gave logits {list(logits.shape)} where {list(wanted)} are "
            "needed: the last number is that of the classes"
        )


def check_numbers(logits: Float[Tensor, "n ..."], what: str) -> None:
    """Raise Diverged if logits, of so many tasks or images, are not all finite.

    Their argmax would still be a class, and a learner that has broken down would look like one that
    guesses.
    """
    broken = int((~torch.isfinite(logits)).flatten(1).any(dim=1).sum())
    if broken:
        raise Diverged(f"the learner's answers to {broken} of {len(logits)} {what} are not numbers")
