"""What random novel sets, or random sets of examples, say of a snapshot, and of the order of two.

The truth is the difference over a large class set C_L; what a benchmark shows is the difference
over a small random part of it. "Two Sides of Meta-Learning Evaluation: In vs. Out of Distribution",
section 5.2; "Lessons from Chasing Few-Shot Learning Benchmarks", table 3.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from fsl_sweep.orchestrator.statistics.intervals import Interval, check_confidence, quantile

FEW_SETS = 30

Method = Literal["wilson", "clopper-pearson"]
"""Of an interval of a share: close to its confidence on average, or never below it."""


@dataclass(frozen=True)
class Spread:
    """The accuracy of one snapshot over random sets of classes or of examples.

    Attributes:
        means: of each set, float64 ``[S]``: what a histogram shows.
        mean: over the sets.
        observed: standard deviation of ``means``, with what the tasks of each set add.
        deviation: standard deviation over sets without it; 0 where tasks explain more than all.
        low, high: its interval.
        confidence: coverage that it aims at, in (0, 1).
        caution: why not to trust it, or None.
    """

    means: np.ndarray
    mean: float
    observed: float
    deviation: float
    low: float
    high: float
    confidence: float
    caution: str | None


def novel_set_variance(accuracies: ArrayLike, confidence: float = 0.95) -> Spread:
    """Return the spread of NovelGen over random sets of novel classes.

    Args:
        accuracies: ``[S, T]`` in T tasks of each of S random sets, the tasks drawn independently.
        confidence: in (0, 1). The interval takes the sets' means to be normal.

    Raises:
        ValueError: there are fewer than 2 sets or tasks, values are not finite, or confidence is
            not in (0, 1).

    Source: "Two Sides of Meta-Learning Evaluation", appendix F.6 and figure 6, which shows
    ``observed``.
    """
    return _spread(accuracies, confidence)


def example_set_variance(accuracies: ArrayLike, confidence: float = 0.95) -> Spread:
    """Return the spread of accuracy over random finite sets of examples of the same classes.

    Arguments, results and exceptions as of ``novel_set_variance``.

    Source: "Lessons from Chasing Few-Shot Learning Benchmarks", appendix D and figure 8.
    """
    return _spread(accuracies, confidence)


def _spread(accuracies: ArrayLike, confidence: float) -> Spread:
    check_confidence(confidence)
    table = _table(accuracies)
    sets, tasks = table.shape
    means = table.mean(axis=1)
    observed, of_tasks = float(np.var(means, ddof=1)), float(np.var(table, axis=1, ddof=1).mean())
    # Of normal means, (S - 1) observed / variance is chi-squared.
    most, least = special.chdtri(sets - 1, [(1 - confidence) / 2, (1 + confidence) / 2])
    low, middle, high = (
        sqrt(max(0.0, factor * observed - of_tasks / tasks))
        for factor in ((sets - 1) / most, 1.0, (sets - 1) / least)
    )
    few = f"only {sets} sets" if sets < FEW_SETS else None
    noise = "tasks explain all of it: draw more of them" if middle == 0 else None
    return Spread(
        means, float(means.mean()), sqrt(observed), middle, low, high, confidence, few or noise
    )


@dataclass(frozen=True)
class Frequency:
    """How often something happened, with the interval of its probability.

    Attributes:
        count: times that it happened.
        n: times that it could have happened.
        low, high: ends of the interval, in [0, 1].
        confidence: coverage that the interval aims at.
    """

    count: int
    n: int
    low: float
    high: float
    confidence: float

    @property
    def share(self) -> float:
        """Return the relative frequency, in [0, 1]."""
        return self.count / self.n


def frequency(count: int, n: int, confidence: float = 0.95, method: Method = "wilson") -> Frequency:
    """Return the frequency of an event in ``n`` independent draws.

    Raises:
        ValueError: ``count`` is not from 0 to ``n``, ``n`` is 0, or confidence outside (0, 1).
    """
    if n < 1 or not 0 <= count <= n:
        raise ValueError(f"An event cannot happen {count} times in {n}.")
    check_confidence(confidence)
    ends = {"wilson": _wilson, "clopper-pearson": _clopper_pearson}[method]
    low, high = ends(count, n, (1 + confidence) / 2)
    # At its end of the scale an interval reaches it; rounding might stop it just short.
    low, high = (0.0 if count == 0 else low), (1.0 if count == n else high)
    return Frequency(count, n, low, high, confidence)


def _wilson(count: int, n: int, upper: float) -> tuple[float, float]:
    z, share = float(special.ndtri(upper)), count / n
    shrunk = 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / shrunk
    half = z / shrunk * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return centre - half, centre + half


def _clopper_pearson(count: int, n: int, upper: float) -> tuple[float, float]:
    low = special.betaincinv(count, n - count + 1, 1 - upper) if count else 0.0
    high = special.betaincinv(count + 1, n - count, upper) if count < n else 1.0
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class ConclusionStability:
    """What random sets say about the order of two snapshots.

    Attributes:
        truth: the difference a - b over the large class set.
        differences: a - b on each set, float64 ``[S]``, in the order of the sets.
        delta: what a difference must exceed the true one by to be an exaggeration.
        flips: sets on which the order is opposite to the true one (conclusion flips).
        exaggerations: sets on which the truly better one leads by more than the true difference
            and ``delta`` (improvement exaggerations).
        unclear: sets whose 95 % intervals do not tell the two apart.
        clear_flips: flips on sets that are not ``unclear``: many tasks do not prevent these.
        noise: standard deviation of a set's difference that its finite number of tasks causes.
        paired: whether a set's tasks were the same for both.
        caution: why not to trust it, or None.
    """

    truth: Interval
    differences: np.ndarray
    delta: float
    flips: Frequency
    exaggerations: Frequency
    unclear: Frequency
    clear_flips: Frequency
    noise: float
    paired: bool
    caution: str | None

    def cdf(self, difference: float) -> float:
        """Return the share of sets with at most this difference."""
        return float(np.mean(self.differences <= difference))


def conclusion_stability(
    truth: Interval,
    a: ArrayLike,
    b: ArrayLike,
    *,
    delta: float = 0.005,
    paired: bool = True,
    method: Method = "wilson",
) -> ConclusionStability:
    """Return how often random sets flip or exaggerate the true difference of two snapshots.

    The frequencies are those of this pair of snapshots under fresh draws of a set; their intervals
    (95 %) say how well so many sets determine them. A tie on a set is no flip.

    A set is unclear where the paired interval of a - b contains 0, or, where each snapshot had
    tasks of its own, where the two snapshots' intervals overlap, as the authors' code counts.

    Args:
        truth: interval of a - b over the large class set.
        a: accuracies on the tasks of each set, ``[S, T]``.
        b: those of the other snapshot.
        delta: at least 0.
        paired: whether task t of a set is the same for both.
        method: of the frequencies' intervals.

    Raises:
        ValueError: fewer than 2 sets or 2 tasks, shapes that differ, values that are not finite, a
            true difference of 0, which has no order to flip, or a negative ``delta``.
    """
    first, second = _table(a), _table(b)
    if first.shape != second.shape:
        raise ValueError(f"Shapes differ: {first.shape} and {second.shape}.")
    if not np.isfinite(truth.mean) or truth.mean == 0:
        raise ValueError(f"A true difference of {truth.mean} has no order that could flip.")
    if not delta >= 0:
        raise ValueError(f"An exaggeration cannot begin at {delta} above the truth.")
    sets, tasks = first.shape
    sign = np.sign(truth.mean)
    # From counts of whole queries: the same accuracies in another order are a tie.
    differences = np.round(first.mean(axis=1) - second.mean(axis=1), 12)
    if paired:
        errors = _errors(first - second)
        reach = errors
    else:
        errors = np.hypot(_errors(first), _errors(second))
        reach = _errors(first) + _errors(second)
    unclear = np.abs(differences) <= quantile(tasks, 0.95) * reach
    flipped = sign * differences < 0
    noise = float(np.sqrt(np.mean(errors**2)))

    def often(event: np.ndarray) -> Frequency:
        return frequency(int(np.count_nonzero(event)), sets, method=method)

    return ConclusionStability(
        truth,
        differences,
        delta,
        flips=often(flipped),
        exaggerations=often(sign * differences > abs(truth.mean) + delta),
        unclear=often(unclear),
        clear_flips=often(flipped & ~unclear),
        noise=noise,
        paired=paired,
        caution=_caution(truth, differences, noise),
    )


def _table(accuracies: ArrayLike) -> np.ndarray:
    """Return accuracies as float64 ``[S, T]``. Raises ValueError if they tell no spread."""
    table = np.asarray(accuracies, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(
            f"Finite accuracies [sets, tasks], 2 or more of each, are needed, not {table.shape}."
        )
    return table


def _errors(table: np.ndarray) -> np.ndarray:
    """Return the standard error over tasks of each set's mean, float64 ``[S]``."""
    return np.std(table, axis=1, ddof=1) / sqrt(table.shape[1])


def _caution(truth: Interval, differences: np.ndarray, noise: float) -> str | None:
    cautions: list[str] = []
    if truth.low <= 0 <= truth.high:
        cautions.append("the true order is not known: its interval contains 0")
    if len(differences) < FEW_SETS:
        cautions.append(f"only {len(differences)} sets")
    # Where a quarter of the variance is that of tasks, more tasks would change the figures.
    if noise > float(np.std(differences, ddof=1)) / 2:
        cautions.append("too few tasks a set: much of the spread is theirs")
    return "; ".join(cautions) or None
