"""Accuracy by class, and which classes are taken for which, from the answers to queries."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fsl_sweep.orchestrator.statistics.intervals import FEW_TASKS, Interval, mean_interval


@dataclass(frozen=True, eq=False)
class Answers:
    """What snapshots answer to the queries of tasks that they have in common.

    The queries of a class within a task share its support, so that they are no sample of their own:
    a value is the share of them in one task, mean over snapshots, and intervals are over tasks.

    Attributes:
        classes: the labels of each task, int64 ``[T, ways]``, -1 where padded.
        task, label: of each query its task's place, and its class; int64 ``[N]``.
        answers: the label that each snapshot answers, int64 ``[S, N]``.
        among_all: whether an answer may be any class, not only one of the task.
    """

    classes: np.ndarray
    task: np.ndarray
    label: np.ndarray
    answers: np.ndarray
    among_all: bool = False

    @property
    def accuracies(self) -> dict[int, Interval]:
        """Return the accuracy of each class in [0, 1], mean over the tasks that query it.

        The hardest comes first; classes in few tasks come last.
        """
        (label, _), cell, queries = self._cells
        right = (self.answers == self.label).mean(axis=0)
        shares = np.bincount(cell, right) / queries
        rows = {int(c): mean_interval(shares[label == c]) for c in np.unique(label)}
        return dict(sorted(rows.items(), key=lambda row: (row[1].n < FEW_TASKS, row[1].mean)))

    @property
    def confusions(self) -> dict[tuple[int, int], Interval]:
        """Return for each class and answer that are confused at all the share of its queries.

        In [0, 1], mean over the tasks that query the class and in which the answer is possible.
        The most confused come first; pairs in few tasks come last.
        """
        rows = dict(self._confused())
        return dict(sorted(rows.items(), key=lambda row: (row[1].n < FEW_TASKS, -row[1].mean)))

    @cached_property
    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return class and task of each cell ``[2, cells]``, the cell of each query, and sizes."""
        pairs = np.stack([self.label, self.task])
        cells, cell, queries = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        return cells, cell.ravel(), queries

    def _confused(self) -> Iterator[tuple[tuple[int, int], Interval]]:
        (label, task), cell, queries = self._cells
        _, query = wrong = np.nonzero(self.answers != self.label)
        keys = np.stack([self.label[query], self.answers[wrong], cell[query]])
        (of, answer, at), counts = np.unique(keys, axis=1, return_counts=True)
        shares = counts / (len(self.answers) * queries[at])
        starts = np.flatnonzero(np.diff(of, prepend=-1) | np.diff(answer, prepend=-1))
        tasks_of = {int(c): task[label == c] for c in np.unique(of)}
        for confused, start in zip(np.split(shares, starts[1:]), starts, strict=True):
            first, second = int(of[start]), int(answer[start])
            both = self._with(tasks_of[first], second)
            values = np.zeros(both)  # of the other tasks with both, in any order
            values[: len(confused)] = confused
            yield (first, second), mean_interval(values)

    def _with(self, tasks: np.ndarray, label: int) -> int:
        """Count the tasks in which a class is a possible answer."""
        if self.among_all:
            return len(tasks)
        return int((self.classes[tasks] == label).any(axis=1).sum())
