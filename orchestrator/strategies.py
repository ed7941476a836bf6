"""Strategies compared with each other, over all methods: what each loses, and what it costs.

A replicate is a method with one seed. The regret of a strategy is known for each of them, so that
two strategies can be paired.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fsl_sweep.orchestrator.records import TrialHistory
from fsl_sweep.orchestrator.selected import Selected, Selection, Strategy
from fsl_sweep.orchestrator.statistics import Comparison, Interval, compare, correct_family
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS, mean_interval
from fsl_sweep.orchestrator.statistics.ties import comparable
from fsl_sweep.orchestrator.summary import Summary


@dataclass(frozen=True)
class StrategyResult:
    """One strategy over all methods and seeds.

    Attributes:
        strategy: which one.
        regret: mean over the replicates, each of which counts once, with its interval over them.
        worst: the most regret of any replicate.
        novel_evaluations: snapshots whose novel scores it looked at, in all replicates.
        training: epochs trained of all trials that it reads, over those of the full trials alone:
            1 but for a cross-validated one, which reads class folds too.
        least: whether it is what the others are compared with: of the strategies that are no
            oracles the one of least mean regret, the earliest of equals.
        against_least: its NovelGen against that of the least, paired over the replicates, after
            Holm's correction over the strategies that are compared; None for an oracle and for the
            least itself. As the reference is the same, the effect is the difference of regrets.
        choices: the selections behind it, by method and seed.
    """

    strategy: Strategy
    regret: Interval
    worst: float
    novel_evaluations: int
    training: float
    least: bool
    against_least: Comparison | None
    choices: tuple[Selection, ...]

    @property
    def caution(self) -> str | None:
        """Why not to trust its interval and its verdict, or None."""
        if self.regret.n == 1:
            return "one replicate alone has no interval"
        return f"only {self.regret.n} replicates" if self.regret.n < FEW_SEEDS else None


@dataclass(frozen=True)
class StrategyComparison:
    """Strategies over all methods.

    Attributes:
        methods: those that have any strategy, in plan order.
        results: of the strategies that all of these methods have, in the order asked for; none
            where some regret is not known.
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
    """Every strategy that all methods have, against the one of least mean regret.

    A method that has no strategy at all takes no part, as in the table of methods; a strategy that
    some other method lacks is not averaged over the rest.

    Args:
        histories: one for each planned trial.
        selected: what was selected among them.
        summaries: the cells of the table of methods and strategies.
    """
    cells = {(one.strategy, one.method): one for one in summaries}
    there = {one.method for one in summaries}
    methods = tuple(method for method in selected.methods if method in there)
    lacks = {s: tuple(m for m in methods if (s, m) not in cells) for s in selected.strategies}
    unknown = {one.method for one in summaries if one.regret is None}
    own = {s: [cells[s, m] for m in methods] for s in lacks if methods and not lacks[s]}
    return StrategyComparison(
        methods=methods,
        results=() if unknown else _results(own, _training(histories, methods)),
        lacking=tuple((strategy, without) for strategy, without in lacks.items() if without),
        without_regret=tuple(method for method in methods if method in unknown),
    )


def _results(cells: dict[Strategy, list[Summary]], training: float) -> tuple[StrategyResult, ...]:
    choices = {
        s: tuple(choice for one in own for choice in one.choices) for s, own in cells.items()
    }
    regrets = {s: _regrets(own) for s, own in choices.items()}
    least = _least(regrets)
    verdicts = {} if least is None else _verdicts(regrets, least)
    return tuple(
        StrategyResult(
            strategy=strategy,
            regret=mean_interval(regrets[strategy], kind="seeds"),
            worst=float(regrets[strategy].max()),
            novel_evaluations=sum(one.novel_evaluations for one in own),
            training=training if strategy.cross_validated else 1.0,
            least=strategy == least,
            against_least=verdicts.get(strategy),
            choices=choices[strategy],
        )
        for strategy, own in cells.items()
    )


def _regrets(choices: Sequence[Selection]) -> np.ndarray:
    """Of each replicate, ``[n]``: the replicates of a method are the same under all strategies."""
    # Rounded, so that a replicate on which two strategies do equally well has no difference.
    return np.round([one.regret for one in choices], 12)


def _least(regrets: dict[Strategy, np.ndarray]) -> Strategy | None:
    """None where all strategies are oracles."""
    usual = [strategy for strategy in regrets if not strategy.oracle]
    means = comparable([float(regrets[strategy].mean()) for strategy in usual])
    return usual[int(np.argmin(means))] if usual else None


def _verdicts(regrets: dict[Strategy, np.ndarray], least: Strategy) -> dict[Strategy, Comparison]:
    others = [strategy for strategy in regrets if strategy != least and not strategy.oracle]
    # Less regret is better: the sign turns it into what NovelGen lacks of the oracle's.
    compared = [compare(-regrets[strategy], -regrets[least]) for strategy in others]
    return dict(zip(others, correct_family(compared), strict=True))


def _training(histories: Iterable[TrialHistory], methods: Sequence[str]) -> float:
    """Epochs of full trials and class folds over those of full trials alone.

    The last recorded epoch tells how many a trial took, whether or not all of them were measured.
    """
    own = {trial.trial: trial for trial in histories if trial.method in methods}.values()
    epochs = [(trial.fold is None, int(trial.epochs[-1])) for trial in own if len(trial.epochs)]
    full = sum(count for whole, count in epochs if whole)
    return sum(count for _, count in epochs) / full if full else 1.0
