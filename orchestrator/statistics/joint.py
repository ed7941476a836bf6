"""Whether one method is better than another in two measures at once: BaseGen and NovelGen.

To claim that it is better in both, or in one and worse in the other, both differences must be
significant, each at the full level: if either is 0, the claim is made at most as often as that one
is found significant (intersection-union). So the greater p value is that of the pair, and pairs of
methods are a family by Holm's procedure.

Sources: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i); Berger, "Multiparameter
Hypothesis Testing and Acceptance Sampling" (1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from fsl_sweep.orchestrator.statistics.comparison import holm

JointVerdict = Literal["better", "worse", "trades", "undecided"]


class Difference(NamedTuple):
    """A difference a - b in one measure, and its two-sided p value; NaN where there is none."""

    effect: float
    p_value: float


@dataclass(frozen=True)
class Joint:
    """a against b in two measures.

    Attributes:
        verdict: of a: ``better`` or ``worse`` in both, ``trades`` one for the other, ``undecided``.
        effects: the two differences.
        p_value: of the hypothesis that they are equal in one measure or in both; NaN if unknown.
        p_adjusted: the same after Holm's correction across the family.
    """

    verdict: JointVerdict
    effects: tuple[float, float]
    p_value: float
    p_adjusted: float


def joint_family(
    pairs: Sequence[tuple[Difference, Difference]], level: float = 0.05
) -> tuple[Joint, ...]:
    """The joint verdicts of a family of pairs, of which any is false with probability ``level``.

    Pairs without a p value are undecided and do not count.

    Raises:
        ValueError: a difference is not finite, or a p value or the level is out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"The level lies between 0 and 1, not {level}.")
    if not np.isfinite([one.effect for pair in pairs for one in pair]).all():
        raise ValueError("Differences must be finite.")
    p = np.array([np.max([one.p_value for one in pair]) for pair in pairs])
    adjusted, known = p.copy(), ~np.isnan(p)
    adjusted[known] = holm(p[known])
    effects = [(first.effect, second.effect) for first, second in pairs]
    return tuple(
        Joint(_verdict(*own) if q < level else "undecided", own, float(one), float(q))
        for own, one, q in zip(effects, p, adjusted, strict=True)
    )


def _verdict(first: float, second: float) -> JointVerdict:
    if first * second == 0:
        return "undecided"
    return "trades" if first * second < 0 else "better" if first > 0 else "worse"
