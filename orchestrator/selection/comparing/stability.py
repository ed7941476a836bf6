"""Whether a conclusion holds on other tasks, with other seeds, under another strategy.

A ranking of methods is a conclusion. Here it is drawn again from each single seed, from resampled
tasks with the selection repeated, and under the other strategies.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fsl_sweep.orchestrator.selection.comparing.comparison import by_strategy
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.resample import ResampledCell
from fsl_sweep.orchestrator.selection.results import Strategy
from fsl_sweep.orchestrator.statistics.ties import comparable

ENOUGH_SEEDS = 3
"""Two seeds give no chance to be best: with equal methods, both seeds of one are above both of the
other in every third run, and the chance would be 100 %."""


@dataclass(frozen=True)
class Agreement:
    """How often methods are ranked as in the table.

    Attributes:
        same: rankings with every pair of methods in the same order.
        of: all rankings.
        tau: mean over the rankings of Kendall's tau-a, (concordant - discordant) / pairs.
    """

    same: int
    of: int
    tau: float


@dataclass(frozen=True)
class MethodStability:
    """One method under one strategy.

    Attributes:
        method: its name.
        mean: what methods are compared by, mean over seeds, in [0, 1].
        worst, worst_seed: the same of the worst seed, and which one; the earlier among equals.
        probability_best: share of resamples of tasks and seeds, with the selection repeated, in
            which no other method is better (ties are shared); None if nothing was resampled, or a
            method has fewer than three seeds, or diverged in one.
    """

    method: str
    mean: float
    worst: float
    worst_seed: int
    probability_best: float | None


@dataclass(frozen=True)
class Stability:
    """The ranking of methods under one strategy, and how stable it is.

    Attributes:
        strategy: which one.
        methods: best first by mean over seeds; equals in plan order.
        by_worst: names, best first by the worst of the seeds, as the MetaDL challenge ranks
            ("Advances in MetaDL: AAAI 2021 challenge and workshop", section 3.2.2).
        seeds: agreement of the rankings by a single seed; None without several common seeds.
        tasks: of the rankings on resampled tasks, seeds unchanged; None if nothing was resampled.
        strategies: of the rankings under the other strategies that are not oracles and have the
            same methods; None if there are none.
    """

    strategy: Strategy
    methods: tuple[MethodStability, ...]
    by_worst: tuple[str, ...]
    seeds: Agreement | None
    tasks: Agreement | None
    strategies: Agreement | None


def stability_of(
    summaries: Sequence[Summary], resampled: Iterable[ResampledCell] = ()
) -> tuple[Stability, ...]:
    """Return the stability of every strategy's ranking, from its cells and their resamples."""
    rows = by_strategy(summaries)
    means = {s: {cell.method: cell.reported.mean for cell in row} for s, row in rows.items()}
    drawn = {(cell.method, cell.strategy): cell for cell in resampled}
    return tuple(
        _stability(row, means, [drawn[key] for cell in row if (key := (cell.method, s)) in drawn])
        for s, row in rows.items()
    )


def _stability(
    row: Sequence[Summary],
    means: Mapping[Strategy, Mapping[str, float]],
    drawn: Sequence[ResampledCell],
) -> Stability:
    strategy, known = row[0].strategy, len(drawn) == len(row)
    tables = [{choice.seed: choice.reported_mean for choice in cell.choices} for cell in row]
    enough = known and min(map(len, tables)) >= ENOUGH_SEEDS
    enough = enough and not any(cell.diverged for cell in row)  # its other seeds flatter a method
    methods: list[MethodStability] = []
    chances = _probability_best(drawn) if enough else [None] * len(row)
    for cell, table, chance in zip(row, tables, chances, strict=True):
        worst = [*table][int(np.argmin(comparable([*table.values()])))]
        mean = means[strategy][cell.method]
        methods.append(MethodStability(cell.method, mean, table[worst], worst, chance))
    reference = comparable([method.mean for method in methods])
    by_worst = np.argsort(-comparable([method.worst for method in methods]), kind="stable")
    others = [
        list(other.values())
        for name, other in means.items()
        if name != strategy and name.usual and list(other) == [m.method for m in methods]
    ]
    return Stability(
        strategy=strategy,
        methods=tuple(methods[i] for i in np.argsort(-reference, kind="stable")),
        by_worst=tuple(methods[i].method for i in by_worst),
        seeds=_agreement(reference, _by_seed(tables)),
        tasks=_agreement(reference, _by_tasks(drawn)) if known else None,
        strategies=_agreement(reference, np.array(others)),
    )


def _probability_best(cells: Sequence[ResampledCell]) -> list[float | None]:
    """Return the share of resamples of tasks and seeds in which each method is the best."""
    count = min(cell.reported.shape[1] for cell in cells)
    drawn = np.stack(
        [(c.weights[: count - 1] * c.reported[:, 1:count].T).sum(axis=1) for c in cells]
    )  # [method, R]: resamples of tasks and seeds
    drawn = comparable(drawn[:, np.isfinite(drawn).all(axis=0)])
    if drawn.shape[1] == 0:
        return [None] * len(cells)
    best = drawn == drawn.max(axis=0)
    return (best / best.sum(axis=0)).mean(axis=1).tolist()


def _by_seed(tables: Sequence[Mapping[int, float]]) -> np.ndarray:
    """Return accuracies by single seeds ``[seeds, methods]``; none without common seeds."""
    common = [seed for seed in tables[0] if all(seed in table for table in tables)]
    rows = [[table[seed] for table in tables] for seed in common]
    return np.array(rows if len(rows) > 1 else [])


def _by_tasks(cells: Sequence[ResampledCell]) -> np.ndarray:
    """Return the accuracy of each method in each resample of tasks ``[R, methods]``."""
    count = min(cell.reported.shape[1] for cell in cells)
    values = np.stack([cell.reported[:, 1:count].mean(axis=0) for cell in cells], axis=1)
    return values[np.isfinite(values).all(axis=1)]


def _agreement(reference: np.ndarray, rankings: np.ndarray) -> Agreement | None:
    """Compare ``rankings [n, methods]`` with a ``reference``; None without any or a pair."""
    if len(reference) < 2 or len(rankings) == 0:
        return None
    rankings = comparable(rankings)
    pairs = np.array(list(combinations(range(len(reference)), 2))).T
    expected = np.sign(reference[pairs[0]] - reference[pairs[1]])
    signs = np.sign(rankings[:, pairs[0]] - rankings[:, pairs[1]])  # [n, pairs]
    same = (signs == expected).all(axis=1)
    return Agreement(int(same.sum()), len(rankings), float((signs * expected).mean()))
