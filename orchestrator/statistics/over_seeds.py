"""Whether two methods differ: over seeds, with the uncertainty of tasks and of selection inside.

A paired interval over common tasks tells trained snapshots apart, and says nothing about training
again. Here each value is what was selected for one seed, so that the variance between seeds holds
training and selection. What all seeds share, the tasks, is added in quadrature:

    half^2 = t(nu)^2 (s_a^2 / S_a + s_b^2 / S_b) + z^2 v_tasks

Two standard errors that are known unequally well have no common quantile (Graybill and Wang 1980).
``nu`` is below Welch's, whose interval is too short where one method varies much more than the
other from few seeds: with A, B = s_a^2 / S_a, s_b^2 / S_b and m the fewer degrees of freedom, it is
m (1 + 0.8 ((A + B)^2 / (A^2 + B^2) - 1)). Of worlds without a difference so many are called
different at a nominal 5 %, for the worst ratio of variances (1 to 300): 6.0 % with 2 seeds each,
5.6 % with 3, 5.2 % with 5; 6.7 % with 2 against many, 5.9 % with 3 (docs/decisions/0058).

Sources: Welch, "The Generalization of 'Student's' Problem when Several Different Population
Variances are Involved" (1947); Graybill and Wang, "Confidence Intervals on Nonnegative Linear
Combinations of Variances" (1980); Holm (1979) for families.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot, isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

# Of single numbers, three times as quick as ``special``'s functions of arrays.
from scipy.special import cython_special as special

from fsl_sweep.orchestrator.statistics.comparison import Verdict, holm, verdict_of
from fsl_sweep.orchestrator.statistics.components import (
    PairMoments,
    Part,
    moments,
    variance_of_selection,
)
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS, FEW_TASKS, IDENTICAL, NORMAL_FROM

_TOWARDS_WELCH = 0.8


@dataclass(frozen=True)
class SeedDifference:
    """Method a against method b, as methods: what training again may give.

    Attributes:
        effect: mean over seeds of a minus that of b, in units of accuracy.
        low, high: its interval; NaN with one seed.
        p_value: two-sided, of the hypothesis that the true difference lies within the rope; NaN
            with one seed.
        p_adjusted: the same after Holm's correction across its family.
        verdict: of a, as of ``Comparison``; ``undecided`` with one seed or one task, or where all
            seeds of a method are equal.
        seeds: their numbers, of a and of b.
        confidence: coverage that the interval aims at, in (0, 1).
        rope: region of practical equivalence: differences up to this do not matter.
        caution: why not to trust it, or None.
    """

    effect: float
    low: float
    high: float
    p_value: float
    p_adjusted: float
    verdict: Verdict
    seeds: tuple[int, int]
    confidence: float
    rope: float
    caution: str | None


def difference_over_seeds(
    a: ArrayLike,
    b: ArrayLike,
    confidence: float = 0.95,
    rope: float = 0.0,
    *,
    resampled: tuple[ArrayLike, ArrayLike] | None = None,
) -> SeedDifference:
    """Compare two methods by accuracies ``a [S_a, T]`` and ``b [S_b, T]`` on common tasks.

    A row is what was selected for one seed. Seeds of a and of b are independent, and means over
    tasks nearly normal. Verdicts are as in ``compare``, and no interval is shorter than the paired
    one over tasks. With seeds that are all identical it is that interval.

    With a standard deviation of a point between seeds, and tasks that hardly matter, true
    differences of 1, 2 and 4 points are found in 4, 9 and 27 % of worlds by 2 seeds each, in 11, 34
    and 88 % by 3, in 25, 76 and 100 % by 5, and in 55, 99 and 100 % by 10.

    Args:
        a: in [0, 1], of one method.
        b: of the other.
        confidence: in (0, 1).
        rope: not negative.
        resampled: accuracies of what each seed chose on resampled tasks, as of
            ``variance_of_selection``. Selection tasks are common to all seeds, so that what they
            change cannot be seen between seeds; without it, it is not in the interval.

    Raises:
        ValueError: values are not finite, tasks are not common, or an argument is out of range.
    """
    return SeedPair([Part(1.0, a, b)], resampled).difference(confidence, rope)


class SeedPair:
    """``difference_over_seeds`` at any level, by a mixture of distributions of tasks.

    Args:
        parts: as of ``moments``.
        resampled: as of ``difference_over_seeds``.

    Raises:
        ValueError: as ``moments``.
    """

    def __init__(
        self, parts: Sequence[Part], resampled: tuple[ArrayLike, ArrayLike] | None = None
    ) -> None:
        self._found = moments(parts)
        self._spread = None
        if min(self._found.shape[:2]) > 1:
            selection = variance_of_selection(self._found, resampled)
            self._spread = _Spread.of(self._found, selection)

    def interval(self, confidence: float, rope: float) -> tuple[float, float, Verdict]:
        """Its ends, NaN with one seed, and the verdict. Raises ValueError as ``difference``."""
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, not {confidence}.")
        if not rope >= 0:
            raise ValueError(f"The region of practical equivalence cannot be {rope}.")
        if self._spread is None:
            return nan, nan, "undecided"
        half = float(self._spread.half(1 - confidence))
        low, high = self._found.effect - half, self._found.effect + half
        none = self._found.shape[2] < 2 or any(self._found.identical)
        return low, high, "undecided" if none else verdict_of(low, high, rope)

    def difference(self, confidence: float = 0.95, rope: float = 0.0) -> SeedDifference:
        """Arguments as of ``difference_over_seeds``.

        Raises:
            ValueError: an argument is out of range.
        """
        found = self._found
        low, high, verdict = self.interval(confidence, rope)
        p = nan if self._spread is None else self._spread.p_value(abs(found.effect) - rope)
        ends, seeds = (found.effect, low, high, p, p), found.shape[:2]
        return SeedDifference(*ends, verdict, seeds, confidence, rope, _caution(found))


def correct_over_seeds(differences: Sequence[SeedDifference]) -> tuple[SeedDifference, ...]:
    """The same after Holm's correction: unsure differences become ``undecided``.

    Pairs without a p value (one seed) stay as they are and do not count. To test the others against
    the best, correct all pairs: the best was found by these same numbers.
    """
    tested = [i for i, one in enumerate(differences) if not isnan(one.p_value)]
    adjusted = holm([differences[i].p_value for i in tested])
    corrected = list(differences)
    for i, p in zip(tested, adjusted, strict=True):
        one = differences[i]
        lost = one.verdict in ("better", "worse") and p >= 1 - one.confidence
        corrected[i] = replace(
            one, verdict="undecided" if lost else one.verdict, p_adjusted=float(p)
        )
    return tuple(corrected)


def seed_freedom(a: ArrayLike, b: ArrayLike, fewer: int) -> np.ndarray:
    """Degrees of freedom ``nu`` of two variances of means.

    Args:
        a: variance of the mean over seeds of one method, s^2 / S, of any shape.
        b: of the other.
        fewer: the lesser of their degrees of freedom.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    squares = first**2 + second**2
    there = squares > 0
    welch = np.where(there, (first + second) ** 2 / np.where(there, squares, 1.0), 1.0)
    return fewer * (1 + _TOWARDS_WELCH * (welch - 1))


def task_quantile(freedom: float, level: float) -> float:
    """Half-width for tasks in standard errors; normal where ``intervals.quantile`` is."""
    if freedom >= NORMAL_FROM - 1:
        return -float(special.ndtri(level / 2))
    return -float(special.stdtrit(float(freedom), level / 2))


@dataclass(frozen=True)
class _Spread:
    """What the half-width at any level follows from: variances, and degrees of freedom."""

    seeds: float
    seeds_freedom: float
    shared: float
    plain: float
    tasks_freedom: float

    @classmethod
    def of(cls, found: PairMoments, selection: float) -> "_Spread":
        first, second, _ = found.shape
        a, b = found.means[0] / first, found.means[1] / second
        freedom = float(seed_freedom(a, b, min(first, second) - 1))
        return cls(a + b, freedom, found.shared + selection, found.plain, found.freedom)

    def half(self, level: float) -> float:
        of_tasks = task_quantile(self.tasks_freedom, level)
        # At a level near 0 the quantile may be infinite.
        quantile = -float(special.stdtrit(self.seeds_freedom, level / 2)) if self.seeds else 0.0
        over = hypot(quantile * sqrt(self.seeds), of_tasks * sqrt(self.shared))
        return max(over, of_tasks * sqrt(self.plain))

    def p_value(self, excess: float) -> float:
        """The level at which the half-width is ``excess``, by bisection."""
        if excess <= 0:
            return 1.0
        if self.seeds + self.shared + self.plain == 0:
            return 0.0
        low, high = -300.0, 0.0  # of the logarithm to base 10
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.half(10**middle) > excess else (low, middle)
        return 10**high if high > -299 else 0.0


def _caution(found: PairMoments) -> str | None:
    fewest = min(found.shape[:2])
    if fewest < 2:
        return "one seed: nothing is known of training again"
    if found.shape[2] < 2:
        return "only means are known: how much other tasks would change is not in it"
    if any(found.identical):
        return IDENTICAL
    if fewest < FEW_SEEDS:
        return f"only {fewest} seeds"
    return f"only {found.shape[2]} tasks" if found.shape[2] < FEW_TASKS else None
