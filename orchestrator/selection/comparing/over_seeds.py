"""Methods compared as methods: over seeds, with tasks and the selection in the interval.

``comparison`` tells trained snapshots apart; what is said here holds for training again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan

import numpy as np

from fsl_sweep.orchestrator.selection.comparing.comparison import by_strategy
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.comparison import holm_levels
from fsl_sweep.orchestrator.statistics.components import Part
from fsl_sweep.orchestrator.statistics.over_seeds import (
    SeedDifference,
    SeedPair,
    correct_over_seeds,
)

LEVEL = 0.05
"""Of a false verdict in the family of a strategy's pairs."""

AMONG_ALL = "one answers among all base classes, the other among those of a task"

UNFINISHED = "an incomplete run decides nothing"

NOT_REPEATED = "the selection was not repeated: what other selection tasks would choose is unknown"


@dataclass(frozen=True)
class MethodDifference:
    """Method a against method b under one strategy, over seeds.

    Attributes:
        strategy, a, b: what is compared, by the metric that ``select`` was given.
        result: the verdict on a, after Holm's correction over all pairs of methods of the strategy;
            ``undecided`` where the selection was not repeated, the run is incomplete, or one method
            answers among all base classes. Its interval is at the level at which Holm's procedure
            tests the pair (for equivalence, at Bonferroni's), so that the two agree.
    """

    strategy: Strategy
    a: str
    b: str
    result: SeedDifference


def compare_over_seeds(
    summaries: Sequence[Summary],
    resampled: Sequence[ResampledCell] | None,
    rope: float = 0.0,
    *,
    complete: bool = True,
) -> tuple[MethodDifference, ...]:
    """Every pair of methods under every strategy that is given.

    Pairs without common report tasks are left out.

    Args:
        summaries: complete cells.
        resampled: the same cells with the selection repeated on resampled tasks.
        rope: region of practical equivalence.
        complete: whether every planned seed is there; if not, nothing is decided.

    Raises:
        ValueError: the rope is negative.
    """
    drawn = {(one.method, one.strategy): one.reported for one in resampled or ()}
    found: list[MethodDifference] = []
    for strategy, cells in by_strategy(summaries).items():
        pairs = [(a, b, parts) for a, b in combinations(cells, 2) if (parts := parts_of(a, b))]
        again = [
            same_draws(*(drawn.get((m.method, strategy)) for m in (a, b))) for a, b, _ in pairs
        ]
        own = [
            (SeedPair(parts, repeated), repeated is None)
            for (_, _, parts), repeated in zip(pairs, again, strict=True)
        ]
        for (a, b, _), one in zip(pairs, _family(own, rope), strict=True):
            apart = a.among_all != b.among_all
            if apart or not complete:
                reasons = AMONG_ALL if apart else None, None if complete else UNFINISHED
                one = undecided(one, *reasons)
            found.append(MethodDifference(strategy, a.method, b.method, one))
    return tuple(found)


def undecided(found: SeedDifference, *reasons: str | None) -> SeedDifference:
    """The same without a verdict, and why."""
    caution = "; ".join(filter(None, (found.caution, *reasons)))
    return replace(found, verdict="undecided", caution=caution)


def parts_of(a: Summary, b: Summary) -> list[Part]:
    """Accuracies of the choice of each seed on common tasks, for each part of the metric.

    Where only means are known, they are those of one task. None where tasks are not common.
    """
    weight = a.base_weight or 0.0
    parts: list[Part] = []
    for part, name in ((weight, "base"), (1 - weight, "novel")):
        if part > 0:
            counts = {len(getattr(one, f"{name}_tasks")) for cell in (a, b) for one in cell.choices}
            if len(counts) > 1:
                return []
            if counts == {0}:
                means = [np.array([[one.reported_mean] for one in cell.choices]) for cell in (a, b)]
                return [Part(1.0, *means)]
            parts.append(Part(part, *(getattr(cell, f"of_{name}") for cell in (a, b))))
    return parts


def same_draws(a: np.ndarray | None, b: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The resamples ``[S, 1 + R]`` that both have: a selector run one by one has fewer."""
    if a is None or b is None:
        return None
    fewest = min(a.shape[1], b.shape[1])
    return a[:, :fewest], b[:, :fewest]


def _family(pairs: Sequence[tuple[SeedPair, bool]], rope: float) -> list[SeedDifference]:
    """All pairs of a strategy, with verdicts and intervals after Holm's correction.

    Args:
        pairs: with each, whether its selection was made only once.
        rope: as in ``compare_over_seeds``.
    """
    single = [pair.difference(rope=rope) for pair, _ in pairs]
    tested = [i for i, one in enumerate(single) if not isnan(one.p_value)]
    levels = dict(zip(tested, holm_levels([single[i].p_value for i in tested], LEVEL), strict=True))
    found: list[SeedDifference] = []
    for i, one in enumerate(correct_over_seeds(single)):
        pair, chosen_once = pairs[i]
        # That several pairs are equivalent is claimed of all of them together (Bonferroni).
        equal = one.verdict == "equivalent"
        level = LEVEL / len(tested) if equal else levels.get(i, LEVEL)
        low, high, wider = pair.interval(1 - level, rope)
        verdict = "undecided" if chosen_once or (equal and wider != "equivalent") else one.verdict
        cautions = filter(None, (one.caution, NOT_REPEATED if chosen_once else None))
        caution = "; ".join(cautions) or None
        found.append(replace(one, low=low, high=high, verdict=verdict, caution=caution))
    return found
