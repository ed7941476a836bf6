"""How much of the variance of a difference is of seeds, of tasks, and of neither.

Two-way random effects without repetition: the accuracy of seed s on task t is mu + seed_s + task_t
+ rest_st. Estimates are by the method of moments, in which expected mean squares are equated with
the observed ones; a negative estimate is set to 0.

Sources: Searle, Casella and McCulloch, "Variance Components" (1992), section 4.7. That the
bootstrap's covariance between seeds is what seeds share follows from the draws, which they share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.class_draws import variance_of_classes
from fsl_sweep.orchestrator.statistics.intervals import (
    FEW_SEEDS,
    FEW_TASKS,
    IDENTICAL,
    mixed,
    weighted_error,
)
from fsl_sweep.orchestrator.statistics.moderation import SeedVariance


@dataclass(frozen=True)
class PairComponents:
    """Variances of the difference of two methods, a - b, on common tasks, in squared accuracy.

    Attributes:
        seeds: between seeds of a and of b, on infinitely many tasks; NaN for one seed.
        rest: of one seed of a and of b on one task, beyond what all seeds of it share.
        tasks: of the difference on one task, over infinitely many seeds: it stays however many
            seeds there are.
        selection: of the difference of means, by the selection tasks that all seeds share; 0 if
            the selection was not repeated.
        classes: of the mean over tasks of one class each, so that C classes have ``classes / C``;
            None if the classes are not known.
        shape: numbers of seeds of a, of seeds of b, and of tasks.
        pilot: variances between the means of these seeds, of a and of b, and how well each is
            known.
        caution: why not to trust them, or None.
    """

    seeds: tuple[float, float]
    rest: tuple[float, float]
    tasks: float
    selection: float
    classes: float | None
    shape: tuple[int, int, int]
    pilot: tuple[SeedVariance, SeedVariance]
    caution: str | None


class Accuracies:
    """One method's accuracies ``[S, T]``, in [0, 1], and what every pair needs of them, made once.

    Raises:
        ValueError: they are no finite ``[S, T]``.
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.ndim != 2 or self.values.size == 0 or not np.isfinite(self.values).all():
            shape = self.values.shape
            raise ValueError(f"Finite accuracies [seeds, tasks] are needed, not {shape}.")

    @classmethod
    def of(cls, values: "ArrayLike | Accuracies") -> "Accuracies":
        """Make them of an array; return them if they are accuracies already."""
        return values if isinstance(values, Accuracies) else cls(values)

    @cached_property
    def of_tasks(self) -> np.ndarray:
        """Return the mean over seeds on each task ``[T]``."""
        return self.values.mean(axis=0)

    @cached_property
    def of_seeds(self) -> np.ndarray:
        """Return the mean over tasks of each seed ``[S]``."""
        return self.values.mean(axis=1)

    @cached_property
    def rest(self) -> float:
        """Return the mean square less seeds and tasks; 0 if there is no freedom for it."""
        freedom = (self.values.shape[0] - 1) * (self.values.shape[1] - 1)
        left = self.values - self.of_seeds[:, None] - self.of_tasks + self.values.mean()
        return float((left**2).sum()) / freedom if freedom else 0.0

    @cached_property
    def identical(self) -> bool:
        """Return whether there are several seeds, and all are equal."""
        return len(self.values) > 1 and bool((self.values == self.values[0]).all())


Part = tuple[float, "ArrayLike | Accuracies", "ArrayLike | Accuracies"]
"""A weight, and accuracies of a ``[S_a, T]`` and of b ``[S_b, T]`` on common tasks."""


@dataclass(frozen=True)
class PairMoments:
    """What two methods' accuracies say, before it is split into components.

    Attributes:
        effect: mean of a minus mean of b, weighted over the parts.
        means: variance between the means of seeds, of a and of b; NaN for one seed.
        rest: variance of one seed's mean by what is of neither seeds nor tasks, of a and of b.
        plain: variance of the effect over tasks, had these seeds been the only ones.
        shared: variance of the effect over tasks that all seeds share; not negative.
        negative: whether it had to be set to 0.
        freedom: degrees of freedom of ``plain``, as of the paired interval.
        shape: numbers of seeds of a, of seeds of b, and of tasks.
        identical: whether all seeds of a method are equal, of a and of b.
    """

    effect: float
    means: tuple[float, float]
    rest: tuple[float, float]
    plain: float
    shared: float
    negative: bool
    freedom: float
    shape: tuple[int, int, int]
    identical: tuple[bool, bool]


def pair_components(
    parts: Sequence[Part],
    resampled: tuple[ArrayLike, ArrayLike] | None = None,
    tuples: ArrayLike | None = None,
    pilot: tuple[SeedVariance, SeedVariance] | None = None,
) -> PairComponents:
    """Return the components of the difference of two methods.

    Args:
        parts: accuracies on common tasks, with weights that sum to 1. There is one part, or two for
            a mixture of two distributions of tasks, which are then counted together.
        resampled: accuracies of what each seed chose on resampled tasks, ``[S_a, 1 + R]`` and
            ``[S_b, 1 + R]``, as of ``variance_of_selection``.
        tuples: classes of each task of a single part, int ``[T, ways]``, drawn uniformly; no task
            holds all of them.
        pilot: variances between the means of seeds, where they are moderated or known to be 0; by
            default those of these seeds alone.

    Raises:
        ValueError: as ``moments``.
    """
    pair = moments(parts)
    pilot = pilot or own_variances(pair)
    drawn = [n for n, v in zip(pair.shape[:2], pilot, strict=True) if v.freedom < inf]
    classes = None
    if tuples is not None:
        a, b = (Accuracies.of(table).of_tasks for table in parts[0][1:])
        classes = variance_of_classes(a - b, tuples)
    between = [variance.value - rest for variance, rest in zip(pilot, pair.rest, strict=True)]
    negative = pair.negative or min(between) < -1e-12
    known = all(variance.known for variance in pilot)
    caution = _caution(min(drawn, default=FEW_SEEDS), pair.shape[2], negative)
    return PairComponents(
        seeds=(max(0.0, between[0]), max(0.0, between[1])) if known else (nan, nan),
        rest=(pair.rest[0] * pair.shape[2], pair.rest[1] * pair.shape[2]),
        tasks=pair.shared * pair.shape[2],
        selection=variance_of_selection(pair, resampled, drawing_nothing(pilot)),
        classes=classes,
        shape=pair.shape,
        pilot=pilot,
        caution=IDENTICAL if any(pair.identical) else caution,
    )


def own_variances(pair: PairMoments) -> tuple[SeedVariance, SeedVariance]:
    """Return the variances between the means of seeds, of a and of b, by these seeds alone."""
    first, second = (
        SeedVariance(value, seeds - 1)
        for value, seeds in zip(pair.means, pair.shape[:2], strict=True)
    )
    return first, second


def drawing_nothing(between: tuple[SeedVariance, SeedVariance]) -> tuple[bool, bool]:
    """Return whether a and b draw nothing."""
    return between[0].freedom == inf, between[1].freedom == inf


def moments(parts: Sequence[Part]) -> PairMoments:
    """Return the moments of the difference of two methods.

    A part's variance over tasks of the difference of means over seeds is ``tasks + rest_a / S_a +
    rest_b / S_b``: what remains after the rest is taken off is what all seeds share.

    Raises:
        ValueError: values are not finite, tasks are not common, or there are not one or two parts.
    """
    weights = [weight for weight, _, _ in parts]
    methods = [[Accuracies.of(part[place]) for part in parts] for place in (1, 2)]
    both = list(zip(*methods, strict=True))
    if len(parts) not in (1, 2) or any(len(a.of_tasks) != len(b.of_tasks) for a, b in both):
        raise ValueError("Methods are compared on common tasks, of one or two distributions.")
    apart = [a.of_tasks - b.of_tasks for a, b in both]
    tables = [list(zip(weights, method, strict=True)) for method in methods]
    seeds = len(both[0][0].values), len(both[0][1].values)
    first, second = (sum(w**2 * x.rest / len(x.of_tasks) for w, x in table) for table in tables)
    plain, freedom = _over_tasks(weights, apart)
    shared = plain - first / seeds[0] - second / seeds[1]
    return PairMoments(
        effect=float(sum(w * d.mean() for w, d in zip(weights, apart, strict=True))),
        means=(_between(tables[0]), _between(tables[1])),
        rest=(first, second),
        plain=plain,
        shared=max(0.0, shared),
        negative=shared < -1e-12,
        freedom=freedom,
        shape=(*seeds, sum(len(d) for d in apart)),
        identical=(_identical(tables[0]), _identical(tables[1])),
    )


def variance_of_selection(
    pair: PairMoments,
    resampled: tuple[ArrayLike, ArrayLike] | None,
    fixed: tuple[bool, bool] = (False, False),
) -> float:
    """Return the variance of a difference by selection tasks that all seeds of a method share.

    Resamples of tasks, with the selection repeated in each, are common to all seeds. So the
    covariance between two seeds of a method is what they share, and the spread that is a seed's own
    is not in it. Report tasks have their part in it, which is taken off with one standard error of
    a variance from R resamples. What is left is doubled: resampling begins at what was chosen, and
    chooses it again too often. Of two equally good snapshots it shows two thirds of the variance,
    of several in simulation half of it or more.

    Args:
        pair: moments of the same seeds.
        resampled: accuracies of the choice of each seed of a ``[S_a, 1 + R]`` and of b
            ``[S_b, 1 + R]``. The first column is not a resample; one with NaN does not count.
        fixed: whether a and b draw nothing, so that all that their one row varies is shared.

    Returns:
        0 without resamples, or with fewer than two seeds of a method or three resamples.
    """
    if resampled is None:
        return 0.0
    tables = [np.asarray(table, np.float64)[:, 1:] for table in resampled]
    values = np.concatenate(tables)
    values = values[:, np.isfinite(values).all(axis=0)]
    count, cut = values.shape[1], len(tables[0])
    alone = any(len(t) < 2 and not of_one for t, of_one in zip(tables, fixed, strict=True))
    if alone or count < 3:
        return 0.0
    covariance = np.cov(values)
    within = covariance[:cut, :cut], covariance[cut:, cut:]
    drawn = sum(_shared_by_seeds(c) for c in within)
    drawn -= 2 * float(covariance[:cut, cut:].mean())
    return 2 * max(0.0, drawn * (1 - sqrt(2 / (count - 1))) - pair.shared)


def _shared_by_seeds(covariance: np.ndarray) -> float:
    """Return the mean covariance of two seeds; of a single one its variance."""
    seeds = len(covariance)
    if seeds == 1:
        return float(covariance[0, 0])
    return float(covariance.sum() - np.trace(covariance)) / (seeds * (seeds - 1))


def _between(weighted: Sequence[tuple[float, Accuracies]]) -> float:
    """Return the variance between seeds of their weighted means."""
    means = sum(weight * table.of_seeds for weight, table in weighted)
    if len(weighted[0][1].values) < 2:
        return nan
    return 0.0 if _identical(weighted) else float(np.var(means, ddof=1))


def _identical(weighted: Sequence[tuple[float, Accuracies]]) -> bool:
    return all(table.identical for _, table in weighted)


def _over_tasks(weights: Sequence[float], apart: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the variance of the weighted mean of paired differences, and its freedom."""
    if min(map(len, apart)) < 2:
        return 0.0, inf
    weight = weights[0] if len(apart) == 2 else 1.0
    error, freedom = weighted_error(mixed(apart[0], apart[-1], weight))
    return error**2, freedom if freedom != inf or error else float(len(apart[0]) - 1)


def _caution(seeds: int, tasks: int, negative: bool) -> str | None:
    if seeds < 2:
        return "one seed: nothing is known of others"
    few = [f"{seeds} seeds"] * (seeds < FEW_SEEDS) + [f"{tasks} tasks"] * (tasks < FEW_TASKS)
    if few:
        return f"only {' and '.join(few)}"
    return "a negative estimate is set to 0" if negative else None
