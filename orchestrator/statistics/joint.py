"""Whether one method is better than another in two measures at once: BaseGen and NovelGen.

To claim that it is better in both, or in one and worse in the other, both differences must be
significant, each at the full level: if either is 0, the claim is made at most as often as that one
is found significant (intersection-union). So the test with the greater p value decides the pair,
and pairs of methods are a ``family`` of such tests.

Sources: "Two Sides of Meta-Learning Evaluation", appendix F.4 (i); Berger, "Multiparameter
Hypothesis Testing and Acceptance Sampling" (1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

from fsl_sweep.orchestrator.statistics.comparison import LEVEL, Comparison, family

JointVerdict = Literal["better", "worse", "trades", "undecided"]


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
    pairs: Sequence[tuple[Comparison, Comparison]], level: float = LEVEL
) -> tuple[Joint, ...]:
    """Return the joint verdicts of a family of which any is false with probability ``level``.

    A pair is compared in either measure by itself. Without a p value of both it is undecided, and
    does not count.
    """
    effects = [(base.effect.mean, novel.effect.mean) for base, novel in pairs]
    greater = [max(pair, key=lambda test: (isnan(test.p_value), test.p_value)) for pair in pairs]
    return tuple(
        Joint(_verdict(*both, test.p_adjusted < level), both, test.p_value, test.p_adjusted)
        for both, test in zip(effects, family(greater, level=level), strict=True)
    )


def _verdict(first: float, second: float, significant: bool) -> JointVerdict:
    if not significant or first * second == 0:
        return "undecided"
    return "trades" if first * second < 0 else "better" if first > 0 else "worse"
