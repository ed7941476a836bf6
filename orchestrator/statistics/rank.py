"""How alike two measures rank the snapshots of a trial."""

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from fsl_sweep.orchestrator.statistics.intervals import checked

FEW_SNAPSHOTS = 10


@dataclass(frozen=True)
class RankCorrelation:
    """Kendall's tau-b between two rankings.

    Attributes:
        tau: in [-1, 1]; NaN if one of the rankings is constant.
        n: number of snapshots ranked.
        last: how many last snapshots were asked for, or None for all.
        caution: why not to trust it, or None.
    """

    tau: float
    n: int
    last: int | None
    caution: str | None


def kendall_tau(a: ArrayLike, b: ArrayLike, last: int | None = None) -> RankCorrelation:
    """Return Kendall's tau-b between ``a [E]`` and ``b [E]``, or between their ``last`` entries.

    tau-b = (concordant - discordant) / sqrt(pairs untied in a * pairs untied in b).

    Source: "Two Sides of Meta-Learning Evaluation", section 5.1.1, figure 2(b), which ranks the
    snapshots of a trial by ValGen and by NovelGen.

    Raises:
        ValueError: lengths differ, values are not finite, or ``last`` is below 2.
    """
    x, y = checked(a), checked(b)
    if x.shape != y.shape:
        raise ValueError(f"Rankings of {len(x)} and {len(y)} snapshots cannot be compared.")
    if last is not None:
        if last < 2:
            raise ValueError(f"A ranking needs 2 or more snapshots, not the last {last}.")
        x, y = x[-last:], y[-last:]
    # Every pair counts twice, above and below the diagonal, in numerator and denominator alike.
    sign_x, sign_y = (np.sign(v[:, None] - v[None, :]).ravel() for v in (x, y))
    untied = float(sign_x @ sign_x) * float(sign_y @ sign_y)
    tau = float(sign_x @ sign_y) / sqrt(untied) if untied else nan
    return RankCorrelation(tau, len(x), last, _caution(len(x), untied))


def _caution(n: int, untied: float) -> str | None:
    if n < 2:
        return "one snapshot has no ranking"
    if untied == 0:
        return "a measure is the same for all snapshots"
    return f"only {n} snapshots" if n < FEW_SNAPSHOTS else None
