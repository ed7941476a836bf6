"""Whether two methods differ: over seeds, with the uncertainty of tasks and of selection inside.

A paired interval over common tasks tells trained snapshots apart, and says nothing about training
again. Here each value is what was selected for one seed, so that the variance between seeds holds
training and selection. What all seeds share, the tasks, is added in quadrature:

    half^2 = t(nu)^2 (s_a^2 / S_a + s_b^2 / S_b) + z^2 v_tasks

Two standard errors that are known unequally well have no common quantile (Graybill and Wang 1980).
``nu`` is below Welch's, whose interval is too short where one method varies much more than the
other from few seeds: with A, B = s_a^2 / S_a, s_b^2 / S_b and m the fewer degrees of freedom, it is
m (1 + 0.8 ((A + B)^2 / (A^2 + B^2) - 1)). Of simulations without a difference so many are called
different at a nominal 5 %, for the worst ratio of variances (1 to 300): 6.0 % with 2 seeds each,
5.6 % with 3, 5.2 % with 5; 6.7 % with 2 against many, 5.9 % with 3 (docs/decisions/0058).

With three methods or more the variances are moderated (``moderation``), and ``nu`` is the lesser
freedom of the two. A method that draws nothing varies with tasks alone: against it ``nu`` is the
other's freedom, and of two such methods the interval is that over tasks, with the selection.

Sources: Welch, "The Generalization of 'Student's' Problem when Several Different Population
Variances are Involved" (1947); Graybill and Wang, "Confidence Intervals on Nonnegative Linear
Combinations of Variances" (1980); Holm (1979) for families.
"""

from collections.abc import Sequence
from math import hypot, inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

# Of single numbers, three times as quick as ``special``'s functions of arrays.
from scipy.special import cython_special as special

from fsl_sweep.orchestrator.statistics.comparison import Comparison, check_rope, verdict_of
from fsl_sweep.orchestrator.statistics.components import (
    Part,
    drawing_nothing,
    moments,
    own_variances,
    variance_of_selection,
)
from fsl_sweep.orchestrator.statistics.intervals import (
    FEW_SEEDS,
    FEW_TASKS,
    IDENTICAL,
    NORMAL_FROM,
    Interval,
    check_confidence,
)
from fsl_sweep.orchestrator.statistics.moderation import SeedVariance

ONE_TEST_SET = "on this test set: how much other tasks would change is not in it"

_TOWARDS_WELCH = 0.8


def difference_over_seeds(
    a: ArrayLike,
    b: ArrayLike,
    confidence: float = 0.95,
    rope: float = 0.0,
    *,
    resampled: tuple[ArrayLike, ArrayLike] | None = None,
) -> Comparison:
    """Compare two methods by accuracies ``a [S_a, T]`` and ``b [S_b, T]`` on common tasks.

    A row is what was selected for one seed. Seeds of a and of b are independent, and means over
    tasks nearly normal. Verdicts are as in ``compare``, but ``undecided`` with one seed, or where
    all seeds of a method are equal; with one task they hold for that task. No interval is
    shorter than the paired one over tasks; with seeds that are all identical it is that interval.

    With a standard deviation of a point between seeds, and tasks that hardly matter, true
    differences of 1, 2 and 4 points are found in 4, 9 and 27 % of simulations by 2 seeds each, in
    11, 34 and 88 % by 3, in 25, 76 and 100 % by 5, and in 55, 99 and 100 % by 10.

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
    return SeedPair([(1.0, a, b)], resampled).comparison(confidence, rope)


class SeedPair:
    """``difference_over_seeds`` at any level, by a mixture of distributions of tasks.

    Args:
        parts: as of ``moments``.
        resampled: as of ``difference_over_seeds``.
        between: variances between the means of seeds, of a and of b, where they are not to be
            those of these seeds alone: moderated, or of methods that draw nothing.

    Raises:
        ValueError: as ``moments``.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        resampled: tuple[ArrayLike, ArrayLike] | None = None,
        between: tuple[SeedVariance, SeedVariance] | None = None,
    ) -> None:
        self._moments = pair = moments(parts)
        self._between = between = between or own_variances(pair)
        self._known = all(variance.known for variance in between)
        if self._known:
            a, b = (v.value / n for v, n in zip(between, pair.shape[:2], strict=True))
            self._seeds = a + b
            fewer = min(variance.freedom for variance in between)
            lent = any(variance.lent for variance in between)
            self._seed_freedom = fewer if lent else float(seed_freedom(a, b, fewer))
            selection = variance_of_selection(pair, resampled, drawing_nothing(between))
            self._shared = pair.shared + selection

    def comparison(self, confidence: float = 0.95, rope: float = 0.0) -> Comparison:
        """Compare the two as the only pair. Arguments as of ``difference_over_seeds``.

        Raises:
            ValueError: an argument is out of range.
        """
        check_rope(rope)
        effect, pair = self.interval(confidence), self._moments
        p = self._p_value(abs(pair.effect) - rope) if self._known else nan
        varies = len(self._drawn) > 0 or pair.shape[2] > 1
        unknown = not self._known or not varies or any(pair.identical)
        verdict = "undecided" if unknown else verdict_of(effect.low, effect.high, rope)
        return Comparison(effect, p, p, verdict, rope, effect.caution, confidence, pair.shape[:2])

    def interval(self, confidence: float) -> Interval:
        """Return the interval of a - b, over the fewer seeds; its ends are NaN with one seed.

        Of two methods that draw nothing it is paired, over tasks.

        Raises:
            ValueError: confidence is not in (0, 1).
        """
        check_confidence(confidence)
        effect, tasks = self._moments.effect, self._moments.shape[2]
        half = float(self._half(1 - confidence)) if self._known else nan
        n, kind = (min(self._drawn), "seeds") if self._drawn else (tasks, "paired")
        caution = self._caution()
        return Interval(effect, effect - half, effect + half, n, confidence, kind, caution)

    def _half(self, level: float) -> float:
        over_tasks = task_quantile(self._moments.freedom, level)
        # At a level near 0 the quantile may be infinite.
        quantile = -float(special.stdtrit(self._seed_freedom, level / 2)) if self._seeds else 0.0
        over_both = hypot(quantile * sqrt(self._seeds), over_tasks * sqrt(self._shared))
        return max(over_both, over_tasks * sqrt(self._moments.plain))

    @property
    def _drawn(self) -> list[int]:
        """Return the numbers of seeds of those of the two that draw something."""
        seeds = zip(self._moments.shape[:2], self._between, strict=True)
        return [count for count, variance in seeds if variance.freedom < inf]

    def _caution(self) -> str | None:
        pair, fewest = self._moments, min(self._drawn, default=inf)
        if fewest < 2:
            return "one seed: nothing is known of training again"
        if pair.shape[2] < 2:
            return ONE_TEST_SET
        if any(pair.identical):
            return IDENTICAL
        if fewest < FEW_SEEDS:
            return f"only {fewest} seeds"
        return f"only {pair.shape[2]} tasks" if pair.shape[2] < FEW_TASKS else None

    def _p_value(self, excess: float) -> float:
        """Return the level at which the half-width is ``excess``, by bisection."""
        if excess <= 0:
            return 1.0
        if self._seeds + self._shared + self._moments.plain == 0:
            return 0.0
        low, high = -300.0, 0.0  # of the logarithm to base 10
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self._half(10**middle) > excess else (low, middle)
        return 10**high if high > -299 else 0.0


def seed_freedom(a: ArrayLike, b: ArrayLike, fewer: float) -> np.ndarray:
    """Return the degrees of freedom ``nu`` of two variances of means.

    Args:
        a: variance of the mean over seeds of one method, s^2 / S, of any shape.
        b: of the other.
        fewer: the lesser of their degrees of freedom.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    squares = first**2 + second**2
    varies = squares > 0
    welch = np.where(varies, (first + second) ** 2 / np.where(varies, squares, 1.0), 1.0)
    return fewer * (1 + _TOWARDS_WELCH * (welch - 1))


def task_quantile(freedom: float, level: float) -> float:
    """Return the half-width for tasks in standard errors; normal where ``quantile`` is."""
    if freedom >= NORMAL_FROM - 1:
        return -float(special.ndtri(level / 2))
    return -float(special.stdtrit(float(freedom), level / 2))
