"""Methods compared as methods: over seeds, with tasks and the selection in the interval.

``comparison`` tells trained snapshots apart; what is said here holds for training again.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from fsl_sweep.orchestrator.selection.comparing.comparison import MethodComparison, by_strategy
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.statistics.comparison import family
from fsl_sweep.orchestrator.statistics.components import Part
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair

AMONG_ALL = "one answers among all base classes, the other among those of a task"

UNFINISHED = "an incomplete run decides nothing"

NOT_REPEATED = "the selection was not repeated: what other selection tasks would choose is unknown"


def compare_over_seeds(
    summaries: Sequence[Summary],
    resampled: Sequence[ResampledCell] | None,
    rope: float = 0.0,
    *,
    complete: bool = True,
) -> tuple[MethodComparison, ...]:
    """Compare every pair of methods under every strategy, over seeds.

    Pairs without common report tasks are left out. A pair is ``undecided`` where the selection was
    not repeated, the run is incomplete, or one method answers among all base classes. Its interval
    is at the level of its test (see ``family``), so that the two agree.

    Args:
        summaries: complete cells.
        resampled: the same cells with the selection repeated on resampled tasks.
        rope: region of practical equivalence.
        complete: whether every planned seed is there; if not, nothing is decided.

    Raises:
        ValueError: the rope is negative.
    """
    drawn = {(cell.method, cell.strategy): cell.reported for cell in resampled or ()}
    comparisons: list[MethodComparison] = []
    for strategy, cells in by_strategy(summaries).items():
        both = [(a, b, parts) for a, b in combinations(cells, 2) if (parts := parts_of(a, b))]
        draws = [
            same_draws(drawn.get((a.method, strategy)), drawn.get((b.method, strategy)))
            for a, b, _ in both
        ]
        pairs = [SeedPair(parts, again) for (*_, parts), again in zip(both, draws, strict=True)]
        singles = [pair.comparison(rope=rope) for pair in pairs]
        corrected = family(singles, [pair.interval for pair in pairs])
        for (a, b, _), again, result in zip(both, draws, corrected, strict=True):
            result = result.undecided(
                NOT_REPEATED if again is None else None,
                AMONG_ALL if a.among_all != b.among_all else None,
                None if complete else UNFINISHED,
            )
            comparisons.append(MethodComparison(strategy, a.method, b.method, result))
    return tuple(comparisons)


def parts_of(a: Summary, b: Summary) -> list[Part]:
    """Return accuracies of the choice of each seed on common tasks, for each part of the metric.

    Where only means are known, they are those of one task. Empty where tasks are not common.
    """
    weight = a.base_weight or 0.0
    parts: list[Part] = []
    for part, name in ((weight, "base"), (1 - weight, "novel")):
        if part > 0:
            choices = (*a.choices, *b.choices)
            counts = {len(getattr(choice, f"{name}_tasks")) for choice in choices}
            if len(counts) > 1:
                return []
            if counts == {0}:
                means = [np.array([[c.reported_mean] for c in cell.choices]) for cell in (a, b)]
                return [(1.0, means[0], means[1])]
            parts.append((part, getattr(a, f"of_{name}"), getattr(b, f"of_{name}")))
    return parts


def same_draws(a: np.ndarray | None, b: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the resamples ``[S, 1 + R]`` that both have: a selector run one by one has fewer."""
    if a is None or b is None:
        return None
    fewest = min(a.shape[1], b.shape[1])
    return a[:, :fewest], b[:, :fewest]
