"""What a trial measures, as plain data.

Selectors see scores on ``selection`` tasks; reported numbers come from ``report`` tasks, so that a
maximum over snapshots is never reported on the tasks it was maximised on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

Measure = Literal["base", "val", "novel"]
TaskSet = Literal["selection", "report"]
MEASURES: tuple[Measure, ...] = ("base", "val", "novel")
TASK_SETS: tuple[TaskSet, ...] = ("selection", "report")
ScoreKey = tuple[Measure, TaskSet]
SCORE_KEYS: tuple[ScoreKey, ...] = tuple((m, s) for m in MEASURES for s in TASK_SETS)
SHOWN_AS = {"base": "BaseGen", "val": "ValGen", "novel": "NovelGen", "train_loss": "train loss"}

CURVES = ("train_loss", "learning_rate", "train_seconds", "evaluation_seconds")

Status = Literal["done", "stopped", "failed", "diverged", "budget"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class TaskScores:
    """Results of one snapshot on one task set.

    Attributes:
        correct, queries: of each task, int64 ``[T]``.
        answers: uint16 ``[sum of queries]``, task by task, where they are known: how many classes
            the answer is after the right one, counted round, so that 0 is right. Answers of two
            snapshots to a query are equal where these are.
    """

    correct: np.ndarray
    queries: np.ndarray
    answers: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.correct.shape != self.queries.shape or self.correct.ndim != 1:
            raise ValueError(f"shapes differ: {self.correct.shape} and {self.queries.shape}")

    @classmethod
    def of_answers(cls, answers: np.ndarray, queries: np.ndarray) -> "TaskScores":
        """Return the results that answers, as of the attribute, amount to."""
        right = np.concatenate([[0], np.cumsum(answers == 0)])
        ends = np.cumsum(queries)
        return cls(right[ends] - right[ends - queries], queries, answers)

    @property
    def accuracy(self) -> np.ndarray:
        """Return the accuracy of each task, float64 ``[T]`` in [0, 1]."""
        return self.correct / self.queries

    @property
    def mean(self) -> float:
        """Return mean accuracy over tasks, in [0, 1], rounded once: equal means are equal."""
        sums = [(self.correct[self.queries == q].sum(), q) for q in np.unique(self.queries)]
        return float(sum(Fraction(int(c), int(q)) for c, q in sums) / len(self.correct))


@dataclass(frozen=True)
class EpochRecord:
    """Everything measured after one epoch of one trial.

    Attributes:
        epoch: 1 for the snapshot after the first epoch.
        train_loss: mean over the epoch's steps.
        learning_rate: of the epoch's last step.
        scores: under the main protocol.
        train_seconds, evaluation_seconds: wall-clock cost.
        environment: what changes the bits of a training besides its specification, such as
            ``threads``, by the fact's name; empty where that is not known.
    """

    epoch: int
    train_loss: float
    learning_rate: float
    scores: Mapping[ScoreKey, TaskScores]
    train_seconds: float
    evaluation_seconds: float
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TrialEnd:
    """How a trial ended.

    Attributes:
        status: ``stopped`` where a scheduler's rule ended it, ``budget`` where the time budget did,
            ``diverged`` where its loss, a weight or an answer became NaN or infinite: an outcome of
            training, not a failure.
        reason: why it failed, diverged or was stopped.
        retriable: whether running the sweep again tries it again.
        trained: how many epochs it was trained; None where that is not known.
    """

    status: Status
    reason: str = ""
    retriable: bool = False
    trained: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ScoreTable:
    """Results of every recorded snapshot of a trial on one set of common tasks.

    Attributes:
        means: mean accuracy of each snapshot, float64 ``[E]``.
        load: reads per-task accuracies, float64 ``[E, T]``. Called on demand: most questions need
            only the means, and a thousand trials' tasks do not fit in memory at once.
        per_task: whether these are accuracies of tasks. Where only the means are known, ``load``
            gives them as ``[E, 1]``, and no interval over tasks can be computed.
        deviation: no snapshot's accuracies have a larger standard deviation over tasks (ddof=0);
            None where that is not known before they are read.
    """

    means: np.ndarray
    load: Callable[[], np.ndarray]
    per_task: bool = True
    deviation: float | None = None

    @classmethod
    def from_accuracies(cls, accuracies: np.ndarray) -> "ScoreTable":
        """Make a table of accuracies ``[E, T]`` in memory."""
        # Rounded, so that tasks in another order have the same mean.
        return cls(np.round(accuracies.mean(axis=1), 12), lambda: accuracies)

    @classmethod
    def from_means(cls, means: np.ndarray) -> "ScoreTable":
        """Make a table of mean accuracies ``[E]`` whose tasks are not known."""
        return cls(means, lambda: means[:, None], per_task=False)


@dataclass(frozen=True)
class TrialHistory:
    """One planned trial and its records.

    Attributes:
        method: a method that planned it (a trial that two methods share appears once for each).
        configuration: id of its hyperparameter configuration: equal for trials of one method that
            differ only in seed or fold.
        hyperparameters: the values of the grid axes, by dotted key.
        fold: class fold, or None for a trial on all base classes.
        epochs: recorded epochs, ascending, int64 ``[E]``.
        curves: float64 ``[E]`` for each of CURVES.
        damaged: names of damaged files, which were skipped.
        unmeasured: recorded epochs that lack scores on the selection tasks: those are NaN. On the
            report tasks others may lack them too, where few snapshots were measured.
        planned_epochs: of its training; None where that is not known, as in a table.
        draws_nothing: whether it is known that no seed changes it: nothing is trained or drawn.
        among_all: as of `PlannedTrial`; False where there is no plan.
        environments: the different ones that its epochs were trained in, as of `EpochRecord`, in
            order; none where that is not known.
    """

    trial: str
    method: str
    configuration: str
    hyperparameters: Mapping[str, Any]
    seed: int
    fold: int | None
    epochs: np.ndarray
    curves: Mapping[str, np.ndarray]
    scores: Mapping[ScoreKey, ScoreTable]
    end: TrialEnd | None = None
    damaged: tuple[str, ...] = ()
    unmeasured: int = 0
    planned_epochs: int | None = None
    draws_nothing: bool = False
    among_all: bool = False
    environments: tuple[Mapping[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether its outcome is known, and all of its snapshots are measured.

        It ended as planned, by its budget after an epoch, or diverged.
        """
        ended = self.end is not None and self.end.status in ("done", "budget")
        return (self.diverged or (ended and len(self.epochs) > 0)) and not self.unmeasured

    @property
    def diverged(self) -> bool:
        """Return whether it diverged: after its last recorded epoch there is no usable network."""
        return self.end is not None and self.end.status == "diverged"

    @property
    def stopped(self) -> bool:
        """Return whether a scheduler's rule stopped it, so that it is no finalist."""
        return self.end is not None and self.end.status == "stopped"

    @property
    def stopped_early(self) -> bool:
        """Return whether its budget stopped it before its first snapshot."""
        return self.end is not None and self.end.status == "budget" and not len(self.epochs)

    def index(self, epoch: int) -> int:
        """Return the position of an epoch in the arrays. Raises KeyError if it is not recorded."""
        positions = np.flatnonzero(self.epochs == epoch)
        if len(positions) != 1:
            raise KeyError(f"Trial {self.trial} has no record of epoch {epoch}.")
        return int(positions[0])
