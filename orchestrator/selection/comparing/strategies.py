"""Strategies compared over all methods: the regret and the cost of each.

The replicates of a method are not independent evidence about other methods: each method counts
once, by its mean over seeds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.methods import Summary, of_all_seeds
from fsl_sweep.orchestrator.selection.results import Selected, Selection, Strategy, over_seeds
from fsl_sweep.orchestrator.statistics import Comparison, Interval, paired_interval
from fsl_sweep.orchestrator.statistics.comparison import LEVEL
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS, mean_interval
from fsl_sweep.orchestrator.statistics.sign_flips import LEAST_ROWS, pairwise_p_values
from fsl_sweep.orchestrator.statistics.ties import comparable


@dataclass(frozen=True)
class StrategyResult:
    """One strategy over all methods and seeds.

    Attributes:
        strategy: which one.
        regrets: of each method, mean over its seeds, ``[methods]``; of each seed if there is one
            method.
        regret: their mean, with its interval over them.
        worst: the largest regret of any replicate.
        novel_evaluations: snapshots whose novel scores it read, in all replicates.
        training: epochs trained of all trials that it reads, over those of the full trials:
            1 except for a cross-validated one, which also reads class folds.
        least: whether it has the least mean regret of the strategies that are not oracles; the
            earliest of equals.
        against_least: its NovelGen against that of the least, paired over the methods: ``worse``
            or ``undecided``, with the p value of sign flips, adjusted for all pairs of strategies,
            because the least was found by these same numbers. None for an oracle, for the least
            itself, and if there are too few methods for any verdict.
        choices: the selections behind it, by method and seed.
    """

    strategy: Strategy
    regrets: np.ndarray = field(repr=False, compare=False)
    regret: Interval
    worst: float
    novel_evaluations: int
    training: float
    least: bool
    against_least: Comparison | None
    choices: tuple[Selection, ...]

    @property
    def caution(self) -> str | None:
        """Return why not to trust its interval and its verdict, or None."""
        methods = len({choice.method for choice in self.choices})
        count, noun = (methods, "method") if methods > 1 else (len(self.choices), "seed")
        if count == 1:
            return f"one {noun} alone has no interval"
        return f"only {count} {noun}s" if count < FEW_SEEDS else None


@dataclass(frozen=True)
class StrategyComparison:
    """Strategies over all methods.

    Attributes:
        methods: those that have any strategy, in plan order.
        results: of the strategies that all of these methods have, in the order of the selections;
            none if some regret is not known.
        lacking: the other strategies, each with the methods that lack it.
        without_regret: methods whose novel scores leave the oracle nothing to choose by.
    """

    methods: tuple[str, ...]
    results: tuple[StrategyResult, ...]
    lacking: tuple[tuple[Strategy, tuple[str, ...]], ...]
    without_regret: tuple[str, ...]


def compare_strategies(
    histories: Iterable[TrialHistory], selected: Selected, summaries: Sequence[Summary]
) -> StrategyComparison:
    """Compare every strategy that all methods have with the one of least mean regret.

    A method without any strategy takes no part; a strategy that some other method lacks, or that
    lost some of its seeds (`of_all_seeds`), is not averaged over the rest.
    """
    cells = {(cell.strategy, cell.method): cell for cell in of_all_seeds(summaries)}
    known = {cell.method for cell in summaries}
    methods = tuple(method for method in selected.methods if method in known)
    lacks = {s: tuple(m for m in methods if (s, m) not in cells) for s in selected.strategies}
    unknown = {cell.method for cell in summaries if cell.regret is None}
    rows = {s: [cells[s, m] for m in methods] for s in lacks if methods and not lacks[s]}
    return StrategyComparison(
        methods=methods,
        results=() if unknown else _results(rows, _training(histories, methods), len(methods)),
        lacking=tuple((strategy, without) for strategy, without in lacks.items() if without),
        without_regret=tuple(method for method in methods if method in unknown),
    )


def _results(
    rows: dict[Strategy, list[Summary]], training: float, methods: int
) -> tuple[StrategyResult, ...]:
    choices = {s: tuple(c for cell in cells for c in cell.choices) for s, cells in rows.items()}
    regrets = {strategy: _regrets(picked) for strategy, picked in choices.items()}
    least = least_regret(regrets)
    verdicts = against_least(regrets, least, methods)
    return tuple(
        StrategyResult(
            strategy=strategy,
            regrets=regrets[strategy],
            regret=(
                over_seeds(regrets[strategy].tolist(), choices[strategy])
                if methods == 1
                else mean_interval(regrets[strategy], kind="seeds")
            ),
            worst=max(choice.regret for choice in choices[strategy]),
            novel_evaluations=sum(cell.novel_evaluations for cell in cells),
            training=training if strategy.cross_validated else 1.0,
            least=strategy == least,
            against_least=verdicts.get(strategy),
            choices=choices[strategy],
        )
        for strategy, cells in rows.items()
    )


def _regrets(choices: Sequence[Selection]) -> np.ndarray:
    """Return the mean over seeds of each method ``[n]``; of one method, that of each seed."""
    regrets: dict[str, list[float]] = {}
    for choice in choices:
        regrets.setdefault(choice.method, []).append(choice.regret)
    rows = list(regrets.values())
    # Rounded, so that a method on which two strategies do equally well has no difference.
    return np.round(rows[0] if len(rows) == 1 else [float(np.mean(row)) for row in rows], 12)


def least_regret(regrets: Mapping[Strategy, np.ndarray]) -> Strategy | None:
    """Return the strategy of least mean regret that is no oracle; None if all of them are."""
    usual = [strategy for strategy in regrets if strategy.usual]
    means = comparable([float(regrets[strategy].mean()) for strategy in usual])
    return usual[int(np.argmin(means))] if usual else None


def against_least(
    regrets: Mapping[Strategy, np.ndarray], least: Strategy | None, units: int
) -> dict[Strategy, Comparison]:
    """Compare every strategy that is no oracle with the least; none with too few ``units``.

    ``regrets`` are of independent units: methods, or benchmarks.
    """
    if least is None or units < LEAST_ROWS:
        return {}
    usual = [strategy for strategy in regrets if strategy.usual]
    single, adjusted = pairwise_p_values(np.stack([regrets[s] for s in usual], axis=1))
    reference = usual.index(least)
    verdicts: dict[Strategy, Comparison] = {}
    for strategy, p, together in zip(usual, single[reference], adjusted[reference], strict=True):
        if strategy != least:
            # Less regret is better: the sign turns it into what NovelGen lacks of the oracle's.
            effect = paired_interval(-regrets[strategy], -regrets[least])
            effect = replace(effect, caution=None)  # its words are about tasks
            verdict = "worse" if together < LEVEL else "undecided"
            verdicts[strategy] = Comparison(effect, float(p), float(together), verdict)
    return verdicts


def _training(histories: Iterable[TrialHistory], methods: Sequence[str]) -> float:
    """Return epochs of full trials and class folds, as recorded, over those of full trials."""
    trials = {trial.trial: trial for trial in histories if trial.method in methods}.values()
    epochs = [(trial.fold is None, int(trial.epochs[-1])) for trial in trials if len(trial.epochs)]
    full = sum(count for full, count in epochs if full)
    return sum(count for _, count in epochs) / full if full else 1.0
