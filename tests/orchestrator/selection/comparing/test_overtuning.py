"""What choosing a configuration gained against taking the first one, by hand."""

import numpy as np
import pytest
from scipy import stats
from trials import trial

from fsl_sweep.orchestrator.selection.comparing.overtuning import overtuning_of
from fsl_sweep.orchestrator.selection.select import select


def grid(seed: int, first: float, other: float):
    """The second configuration looks better by ValGen, with these NovelGen on the report tasks."""
    return [
        trial("A", name, seed, base=base, val=val, novel=[0.1, 0.1], report=report)
        for name, base, val, report in (
            ("1", [0.5, 0.5], [0.4, 0.5], [0.2, first]),
            ("2", [0.7, 0.6], [0.6, 0.5], [other, 0.3]),
        )
    ]


GIVEN = [*grid(0, 0.70, 0.66), *grid(1, 0.71, 0.70), *grid(2, 0.69, 0.70)]


def test_by_hand() -> None:
    (one,) = overtuning_of(GIVEN, select(GIVEN, ["val"], ["val"]))
    assert (one.method, str(one.strategy), one.seeds) == ("A", "val / val", (0, 1, 2))
    assert one.values == pytest.approx((0.04, 0.01, -0.01))
    low, high = stats.t.interval(0.95, 2, np.mean(one.values), stats.sem(one.values))
    assert (one.below.low, one.below.high) == pytest.approx((low, high))
    assert one.caution == "only 3 seeds"


def test_by_a_mixture_and_where_the_first_was_chosen() -> None:
    (one,) = overtuning_of(GIVEN, select(GIVEN, ["val"], ["val"], 0.5))
    # BaseGen is .5 of the first and .7 of the other.
    assert one.values == pytest.approx((0.02 - 0.1, 0.005 - 0.1, -0.005 - 0.1))
    # By the last epoch, ValGen ties, and the first configuration stays.
    (last,) = overtuning_of(GIVEN, select(GIVEN, ["last"], ["val"]))
    assert last.values == (0.0, 0.0, 0.0)


def test_what_has_nothing_to_choose_among_or_is_not_whole_is_left_out() -> None:
    alone = [one for one in GIVEN if one.configuration == "1"]
    assert overtuning_of(alone, select(alone, ["val"], ["val"])) == ()
    torn = [*GIVEN[:5], trial("A", "2", 2, end=None)]
    assert overtuning_of(torn, select(torn, ["val"], ["val"])) == ()
    unknown = [*GIVEN[:4], *grid(2, np.nan, 0.7)]
    assert overtuning_of(unknown, select(unknown, ["val"], ["val"])) == ()
