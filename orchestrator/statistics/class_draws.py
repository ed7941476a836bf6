"""Draws of classes: how far each snapshot's mean would move, had other classes been drawn.

Drawing only tasks misses that there are few classes. Keeping only the tasks of which all classes
were drawn does not work: of n-way tasks about one in 2^n is left. Here the mean moves in proportion
to what each class contributes to it.

Sources: Jaeckel, "The Infinitesimal Jackknife" (1972), for the contributions. That resampling
crossed factors counts the noise of single observations several times, and that nothing resampled
with one weight an observation escapes it: McCullagh, "Resampling and Exchangeable Arrays" (2000);
Owen, "The Pigeonhole Bootstrap" (2007). The excess is estimated here, and subtracted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import fsum, sqrt
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.ties import weighted_means

K = TypeVar("K", bound=tuple[str, str])

_STEP = 2.0**-40
"""Contributions are whole multiples of it, so that sums of them are exact in any order."""


@dataclass(frozen=True)
class ClassTuples:
    """The classes of each task.

    Attributes:
        group: whose classes; tasks of one group share the draw of classes.
        classes: int ``[tasks, ways]``.
        together: the tuples of all tasks of the group, these included.
    """

    group: str
    classes: np.ndarray
    together: tuple[np.ndarray, ...]


def class_tuples(group: str, classes: ArrayLike, *others: ArrayLike) -> ClassTuples:
    """Return the class tuples ``[tasks, ways]`` of some tasks; ``others`` share their classes.

    Raises:
        ValueError: they are not two-dimensional.
    """
    parts = [np.asarray(part, dtype=np.int64) for part in (classes, *others)]
    if any(part.ndim != 2 for part in parts):
        raise ValueError("Class tuples are [tasks, ways]: resampling needs tasks of equal ways.")
    return ClassTuples(group, parts[0], tuple(parts))


def class_groups(
    classes: Mapping[K, ArrayLike] | None, apart: Collection[str] = ()
) -> dict[K, ClassTuples]:
    """Return class tuples by measure and task set.

    Tasks of one measure share their classes, unless it is one of ``apart``: then its task sets are
    of other classes, which are drawn separately.
    """
    tuples = classes or {}
    names = {key: "/".join(key) if key[0] in apart else key[0] for key in tuples}
    return {
        key: class_tuples(
            names[key], part, *(t for k, t in tuples.items() if k != key and names[k] == names[key])
        )
        for key, part in tuples.items()
    }


@dataclass(frozen=True)
class ClassDraw:
    """Classes drawn in each resample.

    Attributes:
        classes: all classes, ascending, int64 ``[C]``.
        times: how often each was drawn, of C - 1 draws, int64 ``[resamples, C]``.
    """

    classes: np.ndarray
    times: np.ndarray

    @classmethod
    def of(cls, tuples: ClassTuples, resamples: int, rng: np.random.Generator) -> "ClassDraw":
        """Draw the classes of a group with replacement.

        One class less than there are is drawn, for the reason of ``seed_weights``.

        Raises:
            ValueError: a task holds all classes, so that no others can be drawn.
        """
        classes = np.unique(np.concatenate([part.ravel() for part in tuples.together]))
        count, ways = len(classes), max(part.shape[1] for part in tuples.together)
        if ways >= count:
            raise ValueError(
                f"{count} classes cannot be resampled: each task holds {ways} of them, so that "
                "tasks of other classes are never seen. Resample tasks instead."
            )
        return cls(classes, rng.multinomial(count - 1, np.full(count, 1 / count), resamples))

    def shifts(self, table: ArrayLike, tuples: np.ndarray) -> np.ndarray:
        """Return how far each mean moves in each resample, float64 ``[resamples + 1, E]``.

        The first row is not a resample, and zero. To be added to means of resampled tasks, whose
        noise is not in it.

        Args:
            table: accuracies ``[E, T]``.
            tuples: classes of its tasks, int ``[T, ways]``.
        """
        present, parts = _contributions(np.asarray(table, np.float64), tuples, len(self.classes))
        drawn = self.times[:, np.searchsorted(self.classes, present)].astype(np.float64)
        moved = drawn @ np.rint(parts / _STEP) * _STEP
        return np.vstack([np.zeros(moved.shape[1]), moved])


def variance_of_classes(values: ArrayLike, tuples: ArrayLike) -> float:
    """Return the variance of a mean over tasks by the draw of its C classes, times C.

    Divided by C, it is the variance by drawing C classes, as ``ClassDraw.shifts`` draws them: no
    noise of tasks is in it, but for one standard error that is left on.

    Args:
        values: of each task ``[T]``.
        tuples: classes of each task, int ``[T, ways]``; no task holds all of them.
    """
    table, classes = np.asarray(values, np.float64)[None], class_tuples("", tuples).classes
    count = len(np.unique(classes))
    _, parts = _contributions(table, classes, count)
    return count * (count - 1) * float(np.var(parts))


def _contributions(
    table: np.ndarray, tuples: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of tasks ``[P]``, and what a draw of each adds to a mean ``[P, E]``.

    Where w of C classes are drawn for a task without replacement and accuracy is additive in them,
    ``y_t = mu + sum of b_c + noise``, the share n_c / T of tasks with class c times how far their
    mean lies from the mean of all is expected to be (w / C) (C - w) / (C - 1) of how far ``b_c``
    lies from the mean of all b: the other classes of these tasks are by so much the less like c. In
    the mean over many tasks, ``b_c`` has the weight w / C. So the factor is (C - 1) / (C - w), and
    it is C / (C - w) with C / (C - 1) for C - 1 draws in place of C.
    """
    tasks, ways = tuples.shape
    present = np.unique(tuples)
    holds = (tuples[:, :, None] == present).any(axis=1).T.astype(np.float64)  # [P, T]
    mean = weighted_means(table, np.ones((1, tasks)))  # [1, E]
    share = holds.sum(axis=1, keepdims=True) / tasks
    apart = share * (weighted_means(table, holds) - mean)
    return present, _signal(table - mean.T, holds, apart, count) * apart * count / (count - ways)


def _signal(rest: np.ndarray, holds: np.ndarray, apart: np.ndarray, count: int) -> np.ndarray:
    """Return the share of ``apart [P, E]`` that is no noise of tasks, ``[E]``.

    ``apart`` is a mean over tasks of ``(holds - share) * rest``, so that the variance of that over
    tasks is the noise in it: sum(apart^2) exceeds what is the classes' by ``noise`` on average.
    One standard error of a variance known from C classes, sqrt(2 / (C - 1)) of it, is left on, so
    that the interval is not too short as often as too long.

    Args:
        rest: how far accuracies ``[E, T]`` lie from their snapshot's mean.
        holds: whether a task has a class, ``[P, T]``.
        apart: what each class contributes ``[P, E]``.
        count: number of classes C.
    """
    tasks = rest.shape[1]
    squares = np.array([fsum(row) for row in (apart**2).T])
    share = holds.sum(axis=1, keepdims=True) / tasks
    # In coarse whole steps, which do not matter to a variance, sums are exact in any order.
    spread = np.rint(((holds - share) ** 2).sum(axis=0) * 2**6) / 2**6
    noise = (np.rint(rest * 2**10) ** 2 @ spread / 2**20 / tasks - squares) / max(1, tasks - 1)
    kept = (
        1
        + sqrt(2 / (count - 1))
        - np.divide(noise, squares, out=np.zeros_like(squares), where=squares != 0)
    )
    return np.sqrt(np.maximum(0.0, kept))
