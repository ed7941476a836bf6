"""Methods lend each other their variance between seeds: the moderated t of few seeds.

A variance of two or three numbers is hardly known. Methods of one comparison are trained and
measured alike, so that the variances of the others say something about it. True variances are taken
to follow a scaled inverse chi-squared distribution with ``d0`` degrees of freedom about ``s0^2``,
both estimated from the variances at hand; a moderated variance is (d0 s0^2 + d s^2) / (d0 + d).

Here a method keeps its own variance where that is the larger, so that one which varies more than
the others is never taken for steadier than its own seeds show.

Sources: Smyth, "Linear Models and Empirical Bayes Methods for Assessing Differential Expression in
Microarray Experiments" (2004), section 6.2, for the moments of the log variances; the pooled
variance where these vary no more than by chance is that of limma's ``squeezeVar``.
"""

from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, polygamma

LEAST_METHODS = 3
"""From so many methods on variances are moderated; two are compared by their own."""


class SeedVariance(NamedTuple):
    """The variance between the means of a method's seeds, and how well it is known.

    Attributes:
        value: in squared accuracy; 0 for a method that draws nothing, NaN for one seed of another.
        freedom: degrees of freedom; infinite for a method that draws nothing.
        lent: degrees of freedom that other methods have lent, ``d0``; 0 if none have.
        lenders: how many methods there are to borrow from, itself included.
    """

    value: float
    freedom: float
    lent: float = 0.0
    lenders: int = 1

    @property
    def known(self) -> bool:
        """Return whether it is a number."""
        return isfinite(self.value)

    def freedom_with(self, seeds: int) -> float:
        """Return the degrees of freedom that so many seeds of each method would have."""
        if self.freedom == inf:
            return inf
        return min(seeds - 1 + self.lent, self.lenders * (seeds - 1))


DRAWS_NOTHING = SeedVariance(0.0, inf)
"""Of a method that no seed can change: known, and zero."""


def moderated(variances: Sequence[SeedVariance]) -> list[SeedVariance]:
    """Return the variances of the methods of one comparison, each with what the others lend it.

    Those of methods that draw nothing, or have one seed, neither lend nor borrow. Variances of 0
    only borrow: of seeds that are equal by rounding, the logarithm says nothing. With fewer than
    three that lend, all stay as they are.

    A moderated variance is never below the method's own. Its freedom is d0 + d, at most that of
    all methods together.
    """
    lent = [v for v in variances if v.known and v.freedom < inf and v.value > 0]
    if len(lent) < LEAST_METHODS:
        return list(variances)
    freedoms = np.array([variance.freedom for variance in lent])
    prior, scale = prior_of(np.array([variance.value for variance in lent]), freedoms)
    total = float(freedoms.sum())

    def of(variance: SeedVariance) -> SeedVariance:
        if not variance.known or variance.freedom == inf:
            return variance
        weight = 1.0 if prior == inf else prior / (prior + variance.freedom)
        value = max(variance.value, weight * scale + (1 - weight) * variance.value)
        return SeedVariance(value, min(prior + variance.freedom, total), prior, len(lent))

    return [of(variance) for variance in variances]


def prior_of(variances: np.ndarray, freedoms: np.ndarray) -> tuple[float, float]:
    """Return d0 and s0^2 of the distribution that true variances follow.

    By the mean and the variance of log s^2, whose excess over what chi-squared draws explain is
    trigamma(d0 / 2) (Smyth 2004, section 6.2). Without an excess d0 is infinite, and s0^2 is the
    pooled variance.

    Args:
        variances: at least two, positive ``[G]``.
        freedoms: their degrees of freedom ``[G]``, positive.
    """
    logs = np.log(variances) - digamma(freedoms / 2) + np.log(freedoms / 2)
    excess = float(np.var(logs, ddof=1) - polygamma(1, freedoms / 2).mean())
    if excess <= 0:
        return inf, float(freedoms @ variances / freedoms.sum())
    # 1 / x <= trigamma(x) <= 1 / x + 1 / x^2, so that its root lies between these. By halves:
    # importing SciPy's solvers would take a fifth of a second of every report.
    low, high = 1 / excess, (1 + sqrt(1 + 4 * excess)) / (2 * excess)
    for _ in range(60):
        half = (low + high) / 2
        low, high = (half, high) if polygamma(1, half) > excess else (low, half)
    return 2 * high, float(np.exp(logs.mean() + digamma(high) - np.log(high)))
