"""Methods compared and ranked under each strategy, by the metric that ``select`` was given."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics import Comparison, compare, compare_mixtures, correct_family
from fsl_sweep.orchestrator.statistics.ties import comparable


@dataclass(frozen=True)
class MethodComparison:
    """Method a against method b under one strategy, on the common report tasks.

    Attributes:
        strategy, a, b: what is compared.
        result: verdict on a, after Holm's correction over all pairs of methods of the strategy.
        survives: whether the order of the two is the same under every strategy that has both.
    """

    strategy: Strategy
    a: str
    b: str
    result: Comparison
    survives: bool


@dataclass(frozen=True)
class Ranking:
    """Methods under one strategy, best first; equals in plan order."""

    strategy: Strategy
    methods: tuple[str, ...]


def compare_methods(
    summaries: Sequence[Summary], rope: float = 0.0
) -> tuple[MethodComparison, ...]:
    """Every pair of methods under every strategy, paired on the common report tasks.

    The family of Holm's correction is what one strategy claims: its pairs of methods. Pairs
    without common tasks are left out.
    """
    found: list[tuple[Strategy, str, str, Comparison]] = []
    signs: dict[tuple[str, str], set[float]] = defaultdict(set)
    for strategy, cells in by_strategy(summaries).items():
        pairs = [
            (a.method, b.method, result)
            for a, b in combinations(cells, 2)
            if (result := _compared(a, b, rope)) is not None
        ]
        corrected = correct_family([comparison for _, _, comparison in pairs])
        for (a, b, _), one in zip(pairs, corrected, strict=True):
            found.append((strategy, a, b, one))
            signs[a, b].add(float(np.sign(comparable(one.effect.mean))))
    return tuple(MethodComparison(s, a, b, c, len(signs[a, b]) == 1) for s, a, b, c in found)


def rank_methods(summaries: Sequence[Summary]) -> tuple[Ranking, ...]:
    """The order of methods under each strategy."""
    rankings = []
    for strategy, cells in by_strategy(summaries).items():
        best_first = np.argsort(-comparable([one.reported.mean for one in cells]), kind="stable")
        rankings.append(Ranking(strategy, tuple(cells[i].method for i in best_first)))
    return tuple(rankings)


def conflicting(rankings: Sequence[Ranking]) -> list[tuple[str, ...]]:
    """The different orders of which some other has two methods the other way round.

    Orders are compared in the methods that both have: one that is a part of another is the same.
    """
    orders = list(dict.fromkeys(one.methods for one in rankings))
    parts = [a for a in orders for b in orders if a != b and a == _within(b, a)]
    whole = [one for one in orders if one not in parts]
    return [a for a in whole if any(_within(a, b) != _within(b, a) for b in whole)]


def _within(order: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(method for method in order if method in other)


def by_strategy(summaries: Sequence[Summary]) -> dict[Strategy, list[Summary]]:
    """The cells of each strategy, by method in plan order."""
    found: dict[Strategy, list[Summary]] = {}
    for one in summaries:
        found.setdefault(one.strategy, []).append(one)
    return found


def common_differences(
    a: Summary, b: Summary, measure: Literal["base", "novel"]
) -> np.ndarray | None:
    """Accuracy of a minus that of b on each common report task ``[T]``; None if not common."""
    pair = _paired(a, b, measure)
    return None if pair is None else pair[0] - pair[1]


def _compared(a: Summary, b: Summary, rope: float) -> Comparison | None:
    """None if the two have no common tasks."""
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
