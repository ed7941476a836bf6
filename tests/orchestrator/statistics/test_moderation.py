"""Moderated variances: against limma's figures, and what they never do."""

from math import inf, nan

import numpy as np
import pytest

from fsl_sweep.orchestrator.statistics.moderation import (
    DRAWS_NOTHING,
    SeedVariance,
    moderated,
    prior_of,
)

VARIANCES = [0.4, 1.1, 2.5, 0.07, 9.0, 0.9]


@pytest.mark.parametrize(
    ("variances", "freedoms", "prior", "scale", "posterior"),
    [
        (
            VARIANCES,
            [2, 2, 2, 2, 2, 2],
            2.71818151,
            1.09148444,
            [0.79836963, 1.09509412, 1.6885431, 0.65848523, 4.44384193, 1.01031569],
        ),
        (
            VARIANCES,
            [1, 2, 4, 2, 4, 9],
            4.08645274,
            1.18593890,
            [1.03142279, 1.15769949, 1.8359451, 0.81924291, 5.05119916, 0.98928896],
        ),
        (
            [0.001, 1.1, 2.5, 50, 9.0, 0.9],
            [4] * 6,
            0.57857708,
            0.12129654,
            [0.0162014081, 0.976325028, 2.19941244, 43.6970211, 7.87803257, 0.801598254],
        ),
        ([1.0, 1.2, 0.8], [2, 2, 2], inf, 1.0, [1.0, 1.0, 1.0]),
    ],
)
def test_they_are_those_of_limma_or_the_method_s_own(variances, freedoms, prior, scale, posterior):
    """Figures of ``squeezeVar`` of InMoose 0.9.1, a port of limma."""
    assert prior_of(np.array(variances), np.array(freedoms)) == pytest.approx((prior, scale))
    got = moderated([*map(SeedVariance, variances, freedoms)])
    assert [v.value for v in got] == pytest.approx(np.maximum(posterior, variances))
    together = min(inf, sum(freedoms))
    assert [v.freedom for v in got] == pytest.approx([min(prior + d, together) for d in freedoms])
    assert {(v.lent, v.lenders) for v in got} == {(got[0].lent, len(variances))}
    assert got[0].lent == pytest.approx(prior)
    assert got[0].freedom_with(5) == pytest.approx(min(4 + prior, 4 * len(variances)))
    assert DRAWS_NOTHING.freedom_with(5) == inf


def test_who_neither_lends_nor_borrows() -> None:
    three = [SeedVariance(v, 2) for v in (1.0, 2.0, 4.0)]
    alone = SeedVariance(nan, 0)
    got = moderated([DRAWS_NOTHING, *three, alone])
    assert (got[0], got[-1]) == (DRAWS_NOTHING, alone)
    assert got[1:-1] == moderated(three)
    assert moderated([DRAWS_NOTHING, *three[:2], alone]) == [DRAWS_NOTHING, *three[:2], alone]
    # A variance of 0 by rounding borrows, and does not draw the others down.
    *others, rounded = moderated([*three, SeedVariance(0.0, 2)])
    assert others == moderated(three)
    assert rounded.value > 0
