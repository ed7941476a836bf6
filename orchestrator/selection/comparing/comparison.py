"""Methods compared and ranked under each strategy, by the metric that ``select`` was given."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Comparison, compare, compare_mixtures, family
from fsl_sweep.orchestrator.statistics.ties import comparable


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
    without common tasks are left out.
    """
    comparisons: list[MethodComparison] = []
    for strategy, cells in by_strategy(summaries).items():
        singles = [
            (a.method, b.method, single)
            for a, b in combinations(cells, 2)
            if (single := _compared(a, b, rope)) is not None
        ]
        corrected = family([single for _, _, single in singles])
        for (a, b, _), result in zip(singles, corrected, strict=True):
            comparisons.append(MethodComparison(strategy, a, b, result))
    return tuple(comparisons)


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
