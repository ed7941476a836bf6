"""Differences between methods under each strategy, by the metric that ``select`` was given.

``compare_methods`` tells trained snapshots apart, paired over common tasks. ``compare_over_seeds``
compares methods as methods: what it says, with tasks and the selection in the interval, holds for
training again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Comparison, compare, compare_mixtures, family
from fsl_sweep.orchestrator.statistics.components import Part
from fsl_sweep.orchestrator.statistics.moderation import DRAWS_NOTHING, SeedVariance, moderated
from fsl_sweep.orchestrator.statistics.over_seeds import SeedPair
from fsl_sweep.orchestrator.statistics.ties import comparable

AMONG_ALL = "one answers among all base classes, the other among those of a task"

UNFINISHED = "an incomplete run decides nothing"

NOT_REPEATED = "the selection was not repeated: what other selection tasks would choose is unknown"

CHOSEN_ON_SHARED_TASKS = (
    "all seeds chose on the same tasks, and without scores of single tasks nothing says how much "
    "other tasks would change the choice"
)

Draws = Mapping[tuple[str, Strategy], np.ndarray]
"""What methods are compared by in each resample, by method and strategy, ``[S, 1 + R]``."""


@dataclass(frozen=True)
class MethodComparison:
    """Method a against method b under one strategy.

    Attributes:
        strategy, a, b: what is compared.
        result: the verdict on a, after Holm's correction over all pairs of methods of the strategy.
            It is about the trained snapshots (``compare_methods``), about the methods
            (``compare_over_seeds``), or over benchmarks (``compare_over_benchmarks``).
    """

    strategy: Strategy
    a: str
    b: str
    result: Comparison


@dataclass(frozen=True)
class Ranking:
    """Methods under one strategy, best first; equals in plan order."""

    strategy: Strategy
    methods: tuple[str, ...]


def compare_methods(
    summaries: Sequence[Summary], rope: float = 0.0
) -> tuple[MethodComparison, ...]:
    """Compare every pair of methods under every strategy, paired on the common report tasks.

    The family of Holm's correction is what one strategy claims: its pairs of methods. Pairs
    without common tasks are left out; one that favours a method with lost seeds is undecided, as
    of `flattered`.
    """
    comparisons: list[MethodComparison] = []
    for strategy, cells in by_strategy(summaries).items():
        pairs = [
            (a, b, single)
            for a, b in combinations(cells, 2)
            if (single := _compared(a, b, rope)) is not None
        ]
        corrected = family([single for *_, single in pairs])
        for (a, b, _), result in zip(pairs, corrected, strict=True):
            result = result.undecided(flattered(result, a.lost_seeds, b.lost_seeds))
            comparisons.append(MethodComparison(strategy, a.method, b.method, result))
    return tuple(comparisons)


def flattered(result: Comparison, a: str | None, b: str | None) -> str | None:
    """Say why a difference decides nothing: the method that it favours diverged in some seeds.

    ``a`` and ``b`` say so of the two, as of ``Summary.lost_seeds``. None where the difference is
    against the one that diverged: its other seeds flatter it, and it is worse all the same.
    """
    mean = 0.0 if result.verdict == "equivalent" else result.effect.mean
    lost = [said for said, sign in ((a, 1), (b, -1)) if said and mean * sign >= 0]
    return f"{' and '.join(lost)}, and only its other seeds are compared" if lost else None


def compare_over_seeds(
    summaries: Sequence[Summary],
    resampled: Iterable[ResampledCell],
    rope: float = 0.0,
    *,
    complete: bool = True,
) -> tuple[MethodComparison, ...]:
    """Compare every pair of methods under every strategy, over seeds.

    Pairs without common report tasks are left out. A pair is ``undecided`` where the selection was
    not repeated, the run is incomplete, one method answers among all base classes, or a method
    diverged in some seed and is favoured by the others (`flattered`). Its interval is at the level
    of its test (see ``family``), so that the two agree. Three methods or more lend each other their
    variance between seeds (see ``moderated``).

    Args:
        summaries: complete cells.
        resampled: the same cells with the selection repeated on resampled tasks.
        rope: region of practical equivalence.
        complete: whether every planned seed is there; if not, nothing is decided.

    Raises:
        ValueError: the rope is negative.
    """
    draws, comparisons = draws_of(resampled), list[MethodComparison]()
    for strategy, cells in by_strategy(summaries).items():
        between = between_seeds(cells)
        pairs = [
            (a, b, again, SeedPair(parts, again, between(a, b)))
            for a, b in combinations(cells, 2)
            if (parts := parts_of(a, b))
            for again in [common_draws(draws, a, b)]
        ]
        singles = [pair.comparison(rope=rope) for *_, pair in pairs]
        corrected = family(singles, [pair.interval for *_, pair in pairs])
        for (a, b, again, _), result in zip(pairs, corrected, strict=True):
            result = result.undecided(
                _why_not_repeated(a, b, again is None),
                AMONG_ALL if a.among_all != b.among_all else None,
                None if complete else UNFINISHED,
                flattered(result, a.lost_seeds, b.lost_seeds),
            )
            comparisons.append(MethodComparison(strategy, a.method, b.method, result))
    return tuple(comparisons)


def between_seeds(
    cells: Sequence[Summary],
) -> Callable[[Summary, Summary], tuple[SeedVariance, SeedVariance] | None]:
    """Return what gives the variances between seeds of a pair of the cells of one strategy.

    None of a pair whose variances are those of its own seeds.
    """
    lent = moderated([cell.seed_variance for cell in cells])
    known = {cell.method: variance for cell, variance in zip(cells, lent, strict=True)}

    def of(a: Summary, b: Summary) -> tuple[SeedVariance, SeedVariance] | None:
        both = known[a.method], known[b.method]
        return both if any(v.lent or v == DRAWS_NOTHING for v in both) else None

    return of


def _why_not_repeated(a: Summary, b: Summary, missing: bool) -> str | None:
    """Say why the choices of two cells decide nothing; None if they were repeated, or not made."""
    if not any(choice.by_score for choice in (*a.choices, *b.choices)):
        return None
    if not len(a.choices[0].novel_tasks):
        return CHOSEN_ON_SHARED_TASKS
    return NOT_REPEATED if missing else None


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


def draws_of(resampled: Iterable[ResampledCell]) -> Draws:
    """Return what methods are compared by in each resample, of each cell."""
    return {(cell.method, cell.strategy): cell.reported for cell in resampled}


def common_draws(draws: Draws, a: Summary, b: Summary) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the resamples that both cells have: a selector run one by one has fewer."""
    first, second = (draws.get((cell.method, cell.strategy)) for cell in (a, b))
    if first is None or second is None:
        return None
    fewest = min(first.shape[1], second.shape[1])
    return first[:, :fewest], second[:, :fewest]


def same_order(comparisons: Iterable[MethodComparison]) -> set[tuple[str, str]]:
    """Return the pairs whose order is the same under every strategy that has both."""
    signs: dict[tuple[str, str], set[float]] = defaultdict(set)
    for pair in comparisons:
        signs[pair.a, pair.b].add(float(np.sign(comparable(pair.result.effect.mean))))
    return {pair for pair, both in signs.items() if len(both) == 1}


def rank_methods(summaries: Sequence[Summary]) -> tuple[Ranking, ...]:
    """Return the order of methods under each strategy."""
    rankings = []
    for strategy, cells in by_strategy(summaries).items():
        best_first = np.argsort(-comparable([cell.reported.mean for cell in cells]), kind="stable")
        rankings.append(Ranking(strategy, tuple(cells[i].method for i in best_first)))
    return tuple(rankings)


def conflicting(rankings: Sequence[Ranking]) -> list[tuple[str, ...]]:
    """Return the different orders of which some other has two methods the other way round.

    Orders are compared in the methods that both have: one that is a part of another is the same.
    """
    orders = list(dict.fromkeys(ranking.methods for ranking in rankings))
    parts = [a for a in orders for b in orders if a != b and a == _within(b, a)]
    complete = [order for order in orders if order not in parts]
    return [a for a in complete if any(_within(a, b) != _within(b, a) for b in complete)]


def _within(order: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(method for method in order if method in other)


def by_strategy(summaries: Sequence[Summary]) -> dict[Strategy, list[Summary]]:
    """Group cells by strategy; methods stay in plan order."""
    cells: dict[Strategy, list[Summary]] = {}
    for summary in summaries:
        cells.setdefault(summary.strategy, []).append(summary)
    return cells


def _compared(a: Summary, b: Summary, rope: float) -> Comparison | None:
    """Compare two cells; None if they have no common tasks."""
    novel, weight = _paired(a, b, "novel"), a.base_weight
    if weight is None or novel is None:
        return None if novel is None else compare(*novel, rope)
    base = _paired(a, b, "base")
    return None if base is None else compare_mixtures(base, novel, weight, rope)


def _paired(
    a: Summary, b: Summary, measure: Literal["base", "novel"]
) -> tuple[np.ndarray, np.ndarray] | None:
    first, second = a.common_tasks(measure), b.common_tasks(measure)
    if first is None or second is None or len(first) != len(second):
        return None
    return first, second
