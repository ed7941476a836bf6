"""How many queries a task should have, if there is a fixed number of examples to make tasks of.

The accuracy of a task with q queries of each of n classes varies by A + B / q over tasks: A is what
classes and support set change, B what is left to the queries. N examples make T = N / (n (k + q))
tasks with k shots, so that the variance of their mean is proportional to (A + B / q) (k + q). It is
least at q* = sqrt(B k / A).

Source: "Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning",
section 4, equations 6 and 7, and appendix A.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import FEW_TASKS, checked


@dataclass(frozen=True)
class TaskVariance:
    """What the variance of a task's accuracy consists of: between + within / q.

    Attributes:
        between: A, of tasks with endless queries. An unbiased estimate, which may be below 0.
        within: B, of a query of each class.
        caution: why not to trust it, or None.
    """

    between: float
    within: float
    caution: str | None

    def optimal(self, shot: int) -> float:
        """Return q*, as ``optimal_queries``; a negative estimate of A counts as 0."""
        return optimal_queries(max(self.between, 0.0), max(self.within, 0.0), shot)


def optimal_queries(between: float, within: float, shot: int) -> float:
    """Return the queries of each class that make the open interval shortest: sqrt(B k / A).

    It is no whole number; below 1 one query is best. Infinite if A is 0: then one task with all
    examples is best.

    Args:
        between: A, at least 0.
        within: B, at least 0.
        shot: k, at least 1.

    Raises:
        ValueError: an argument is out of its range, or A and B are 0.
    """
    if not (0 <= between < inf and 0 <= within < inf and between + within > 0):
        raise ValueError(f"A and B are 0 or more, and not both 0: not {between} and {within}.")
    if shot < 1:
        raise ValueError(f"A task has a support set of 1 shot or more, not {shot}.")
    return sqrt(within * shot / between) if between > 0 else inf


def variance_of_tasks(accuracies: ArrayLike, way: int, queries: int) -> TaskVariance:
    """Estimate A and B from tasks with one number of queries.

    With m = n q queries in a task that are right with one probability each, m / (m - 1) times the
    mean of p (1 - p) over tasks is an unbiased estimate of n B, and what is left of the variance of
    ``accuracies`` is one of A. Where classes of a task differ in how hard they are, B comes out too
    large, and A too small by as much / q: ``variance_over_queries`` does not need this assumption.

    Args:
        accuracies: ``[T]`` in [0, 1].
        way: n.
        queries: q, of each class.

    Raises:
        ValueError: there is one task, all have the same accuracy, a value is not in [0, 1], or
            there are fewer than 2 queries in a task.
    """
    data = _tasks(accuracies)
    total = way * queries
    if way < 1 or queries < 1 or total < 2:
        raise ValueError(f"Tasks of 2 queries or more are needed, not of {way} x {queries}.")
    right_and_wrong = float(np.mean(data * (1 - data))) * total / (total - 1)
    between = float(np.var(data, ddof=1)) - right_and_wrong / total
    few = f"only {len(data)} tasks" if len(data) < FEW_TASKS else None
    return TaskVariance(between, right_and_wrong / way, few or _negative(between))


def variance_over_queries(samples: Sequence[tuple[int, ArrayLike]]) -> TaskVariance:
    """Estimate A and B from tasks with several numbers of queries, else alike.

    The variances over tasks are fitted by A + B / q, each with the weight T - 1, which makes no
    assumption about queries. Unbiased.

    Args:
        samples: queries of each class, with accuracies ``[T]`` of tasks with so many.

    Raises:
        ValueError: as ``variance_of_tasks``, or there are fewer than 2 numbers of queries.
    """
    tasks = [(queries, _tasks(values)) for queries, values in samples]
    if len({queries for queries, _ in tasks}) < 2 or min(queries for queries, _ in tasks) < 1:
        raise ValueError("Tasks with two or more numbers of queries, each 1 or more, are needed.")
    weights = np.sqrt([len(values) - 1.0 for _, values in tasks])
    inverse = np.array([1 / queries for queries, _ in tasks])
    variances = np.array([np.var(values, ddof=1) for _, values in tasks])
    design = np.stack([np.ones_like(inverse), inverse], axis=1) * weights[:, None]
    between, within = map(float, np.linalg.lstsq(design, variances * weights)[0])
    count, queries = min((len(values), queries) for queries, values in tasks)
    total = sum(len(values) for _, values in tasks)
    few = f"only {count:,} of the {total:,} tasks have {queries} queries of each class"
    caution = few if count < FEW_TASKS else _negative(between, within)
    return TaskVariance(between, within, caution)


def tasks_of_examples(examples: int, way: int, shot: int, queries: int) -> int:
    """Return the tasks that N examples make if none is in two: N / (n (k + q)), rounded down.

    Source: "Oops, I Sampled it Again", equation 6, for classes with equal numbers of examples.
    """
    return examples // (way * (shot + queries))


def open_half_width(
    variance: TaskVariance, tasks: int, queries: int, confidence: float = 0.95
) -> float:
    """Predict the half-width of an open interval, with Student's t; NaN below 2 tasks."""
    if tasks < 2:
        return nan
    quantile = float(special.stdtrit(tasks - 1, (1 + confidence) / 2))
    of_task = max(variance.between, 0.0) + max(variance.within, 0.0) / queries
    return quantile * sqrt(of_task / tasks)


def _tasks(accuracies: ArrayLike) -> np.ndarray:
    data = checked(accuracies)
    if len(data) < 2:
        raise ValueError("One task tells nothing about the variance between tasks.")
    if data.min() < 0 or data.max() > 1:
        raise ValueError("Accuracies lie between 0 and 1.")
    if np.ptp(data) == 0:
        raise ValueError("All tasks have the same accuracy: there is no variance to divide.")
    return data


def _negative(*estimates: float) -> str | None:
    return "a negative estimate counts as 0" if min(estimates) < 0 else None
