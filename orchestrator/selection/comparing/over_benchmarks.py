"""Strategies and methods compared over several benchmarks that have the same methods.

A benchmark is one draw of everything that its trials share (classes, images, tasks), so that its
replicates and methods are no independent evidence: each benchmark counts once, and every interval
is over benchmarks, as DomainBed averages its domains (Gulrajani and Lopez-Paz, "In Search of Lost
Domain Generalization", section 4).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, nan

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.comparing.over_seeds import AMONG_ALL, LEVEL
from fsl_sweep.orchestrator.selection.comparing.strategies import against_least, least_regret
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.results import Pick, Selected, Strategy
from fsl_sweep.orchestrator.selectors import (
    Candidate,
    HyperparameterSelector,
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.apply import apply
from fsl_sweep.orchestrator.selectors.base import is_cross_validated
from fsl_sweep.orchestrator.statistics import (
    Comparison,
    Interval,
    compare,
    holm,
    mean_interval,
    paired_interval,
)
from fsl_sweep.orchestrator.statistics.comparison import holm_levels
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS
from fsl_sweep.orchestrator.statistics.ties import comparable

LEAST_BENCHMARKS = 3
"""Fewer decide nothing, and have no interval."""

EQUAL, ALL_EQUAL = 1e-9, "all differences are equal"
"""Differences of accuracies that are nearer to each other are equal, and what is said of them."""


@dataclass(frozen=True)
class BenchmarkEvidence:
    """One benchmark: whole replicates, what was selected from them, and whether all are there."""

    histories: Sequence[TrialHistory]
    selected: Selected
    summaries: Sequence[Summary]
    complete: bool = True


@dataclass(frozen=True)
class StrategyOverBenchmarks:
    """A strategy that all methods have in all benchmarks.

    Attributes:
        strategy: which one.
        regrets: by benchmark, mean over methods of the mean over seeds.
        regret: their mean, with its interval over benchmarks.
        accuracies: by benchmark, how often the strategy picks the better of two methods, in [0, 1]:
            see ``decisions``. Benchmarks without a pair that differs are left out.
        accuracy: their mean, with its interval over benchmarks, which may leave [0, 1] (see
            ``Interval``); None where there is none.
        against_least: as of ``StrategyResult``, paired over benchmarks.
    """

    strategy: Strategy
    regrets: Mapping[str, float]
    regret: Interval
    accuracies: Mapping[str, float]
    accuracy: Interval | None
    against_least: Comparison | None


@dataclass(frozen=True)
class MethodOverBenchmarks:
    """A method under one strategy in all benchmarks.

    Attributes:
        method: which one.
        means: by benchmark, what methods are compared by, mean over seeds, in [0, 1].
        mean: their mean, with its interval over benchmarks.
    """

    method: str
    means: Mapping[str, float]
    mean: Interval


@dataclass(frozen=True)
class DifferenceOverBenchmarks:
    """Method a against method b, paired over benchmarks, after Holm's correction over all pairs.

    The pairs are those of all methods that some benchmark has. The interval is at the level at
    which Holm's procedure tests the pair. Two benchmarks, and differences that are all equal,
    decide nothing: their spread is that of rounding.
    """

    a: str
    b: str
    result: Comparison


@dataclass(frozen=True)
class OverBenchmarks:
    """What several benchmarks say together.

    Attributes:
        benchmarks: their names.
        methods: under the leading strategy; those that every benchmark has.
        differences: of every two of them.
        strategies: in the order asked for.
        lacking: strategies, and methods, that some benchmark lacks.
        absent: by benchmark, the methods of others that it lacks under the leading strategy.
        caution: why no verdict is given, of methods or of strategies: some benchmark lacks a
            method, or is incomplete; None where all have the same.
    """

    benchmarks: tuple[str, ...]
    methods: tuple[MethodOverBenchmarks, ...]
    differences: tuple[DifferenceOverBenchmarks, ...]
    strategies: tuple[StrategyOverBenchmarks, ...]
    lacking: tuple[str, ...]
    absent: Mapping[str, tuple[str, ...]]
    caution: str | None


def compare_over_benchmarks(
    benchmarks: Mapping[str, BenchmarkEvidence], lead: Strategy
) -> OverBenchmarks:
    """Compare what all benchmarks have; ``lead`` is the strategy that methods are shown under.

    Raises:
        ValueError: there are fewer than two benchmarks.
    """
    if len(benchmarks) < 2:
        raise ValueError("Benchmarks are compared over two or more.")
    methods, absent = _methods(benchmarks, lead)
    lost = dict.fromkeys(method for own in absent.values() for method in own)
    caution = _caution(benchmarks, absent, lead)
    every = {s: None for benchmark in benchmarks.values() for s in benchmark.selected.strategies}
    regrets = {s: found for s in every if len(found := _regrets(benchmarks, s)) == len(benchmarks)}
    return OverBenchmarks(
        benchmarks=tuple(benchmarks),
        methods=methods,
        differences=_differences(
            methods, comb(len(methods) + len(lost), 2), caution, _among_all(benchmarks)
        ),
        strategies=_strategies(benchmarks, regrets, caution),
        lacking=(*(str(s) for s in every if s not in regrets), *lost),
        absent=absent,
        caution=caution,
    )


def _strategies(
    benchmarks: Mapping[str, BenchmarkEvidence],
    regrets: Mapping[Strategy, Mapping[str, float]],
    caution: str | None,
) -> tuple[StrategyOverBenchmarks, ...]:
    rows = {s: np.round(list(own.values()), 12) for s, own in regrets.items()}
    verdicts = against_least(rows, least_regret(rows), len(benchmarks))
    if caution is not None:
        verdicts = {
            s: replace(one, verdict="undecided", caution=caution) for s, one in verdicts.items()
        }
    right = {name: decisions(benchmark) for name, benchmark in benchmarks.items()}
    strategies = []
    for strategy, own in regrets.items():
        accuracies = {
            name: float(np.mean(found[strategy]))
            for name, found in right.items()
            if found.get(strategy)
        }
        strategies.append(
            StrategyOverBenchmarks(
                strategy=strategy,
                regrets=own,
                regret=_over(own),
                accuracies=accuracies,
                accuracy=_over(accuracies) if accuracies else None,
                against_least=verdicts.get(strategy),
            )
        )
    return tuple(strategies)


def decisions(benchmark: BenchmarkEvidence) -> dict[Strategy, list[float]]:
    """Whether each strategy picks the better of two methods, 1 or 0, for each pair and common seed.

    The strategy takes what it chose for each of the two, and its hyperparameter selector chooses
    between them as between two configurations: it sees only what it may read. The better method is
    the one whose snapshots by oracle / oracle, the reference of regret, have the higher NovelGen on
    the report tasks, mean over seeds; equal pairs are left out. A strategy that takes
    the first of two, whichever that is, has 0.5.
    """
    chosen, reference = Chosen(benchmark.histories), _reference(benchmark)
    found: dict[Strategy, list[float]] = {s: [] for s in benchmark.selected.strategies}
    picks: dict[tuple[Strategy, int], dict[str, Pick]] = {}
    for pick in (pick for replicate in benchmark.selected.picks for pick in replicate.picks):
        snapshot = pick.snapshot
        picks.setdefault((pick.strategy, snapshot.seed), {})[snapshot.method] = pick
    for (strategy, _), own in picks.items():
        selector = hyperparameter_selector(strategy.hyperparameter)
        assert isinstance(selector, HyperparameterSelector)
        for a, b in combinations([own[m] for m in own if m in reference], 2):
            better = reference[a.snapshot.method] - reference[b.snapshot.method]
            if better == 0:
                continue
            candidates = _candidates(chosen, selector, (a, b))
            try:
                taken = [apply(selector, given) for given in (candidates, candidates[::-1])]
            except SelectionError:
                continue
            right = candidates[0 if better > 0 else 1]
            found[strategy].append(float(np.mean([one is right for one in taken])))
    return found


def _candidates(
    chosen: Chosen, selector: HyperparameterSelector, picks: Sequence[Pick]
) -> list[Candidate]:
    given = [
        Candidate(one.trial, one.hyperparameters, one.epoch, chosen.history(one.history))
        for one in (pick.snapshot for pick in picks)
    ]
    if is_cross_validated(selector) and selector.asks_folds:
        return chosen.with_folds(given, picks[0].strategy.snapshot)
    return given


def _reference(benchmark: BenchmarkEvidence) -> dict[str, float]:
    """NovelGen of the choices of oracle / oracle by method, where every seed has one."""
    found: dict[str, list[float]] = {}
    for replicate in benchmark.selected.picks:
        oracle = replicate.oracle
        snapshots = [oracle, *(pick.snapshot for pick in replicate.picks)]
        methods = [snapshot.method for snapshot in snapshots if snapshot is not None]
        if methods:
            value = float("nan") if oracle is None else oracle.mean("novel")
            found.setdefault(methods[0], []).append(value)
    means = {method: float(np.mean(values)) for method, values in found.items()}
    return {m: float(comparable(mean)) for m, mean in means.items() if np.isfinite(mean)}


def _regrets(benchmarks: Mapping[str, BenchmarkEvidence], strategy: Strategy) -> dict[str, float]:
    """Of the benchmarks in which every method has the strategy, and a regret."""
    found: dict[str, float] = {}
    for name, benchmark in benchmarks.items():
        own = [s.regret for s in benchmark.summaries if s.strategy == strategy]
        methods = {one.method for one in benchmark.summaries}
        known = [one.mean for one in own if one is not None]
        if known and len(known) == len(methods):
            found[name] = float(np.mean(known))
    return found


def _methods(
    benchmarks: Mapping[str, BenchmarkEvidence], lead: Strategy
) -> tuple[tuple[MethodOverBenchmarks, ...], dict[str, tuple[str, ...]]]:
    """Those that every benchmark has under the strategy; others by benchmarks that lack them."""
    means: dict[str, dict[str, float]] = {}
    for name, benchmark in benchmarks.items():
        for one in benchmark.summaries:
            if one.strategy == lead:
                means.setdefault(one.method, {})[name] = one.reported.mean
    whole = {method: own for method, own in means.items() if len(own) == len(benchmarks)}
    shown = tuple(MethodOverBenchmarks(method, own, _over(own)) for method, own in whole.items())
    planned = {m: None for benchmark in benchmarks.values() for m in benchmark.selected.methods}
    without = {w: tuple(m for m in planned if w not in means.get(m, ())) for w in benchmarks}
    return shown, {benchmark: own for benchmark, own in without.items() if own}


def _caution(
    benchmarks: Mapping[str, BenchmarkEvidence], absent: Mapping[str, Sequence[str]], lead: Strategy
) -> str | None:
    found = [f"{name} is incomplete" for name, one in benchmarks.items() if not one.complete]
    found += [f"{name} lacks {', '.join(own)} under {lead}" for name, own in absent.items()]
    return "; ".join(found) or None


def _among_all(benchmarks: Mapping[str, BenchmarkEvidence]) -> set[str]:
    """The methods that answer among all base classes, in any benchmark."""
    return {
        one.method
        for benchmark in benchmarks.values()
        for one in benchmark.summaries
        if one.among_all
    }


def _differences(
    methods: Sequence[MethodOverBenchmarks],
    family: int,
    caution: str | None,
    among_all: Collection[str],
) -> tuple[DifferenceOverBenchmarks, ...]:
    """Of every two methods; a pair of the ``family`` that is not known counts with a p of 1."""
    pairs = list(combinations(methods, 2))
    tables = [([*a.means.values()], [*b.means.values()]) for a, b in pairs]
    single = [compare(*both) for both in tables]
    p_values = [*(one.p_value for one in single), *[1.0] * (family - len(pairs))]
    corrected = zip(holm(p_values), holm_levels(p_values, LEVEL), strict=True)
    found: list[DifferenceOverBenchmarks] = []
    for (a, b), both, one, (p, level) in zip(pairs, tables, single, corrected, strict=False):
        apart, few = np.subtract(*both), None
        if len(apart) < FEW_SEEDS:
            few = f"only {len(apart)} benchmarks"
        if np.ptp(apart) < EQUAL:
            few = ALL_EQUAL
        if (a.method in among_all) != (b.method in among_all):
            few = AMONG_ALL
        decides = len(apart) >= LEAST_BENCHMARKS and few not in (ALL_EQUAL, AMONG_ALL)
        known = decides and caution is None
        one = replace(
            one,
            verdict=one.verdict if known and p < LEVEL else "undecided",
            effect=replace(_of_several(paired_interval(*both, 1 - level)), caution=few),
            p_adjusted=float(p),
            caution=caution or few,
        )
        found.append(DifferenceOverBenchmarks(a.method, b.method, one))
    return tuple(found)


def _over(values: Mapping[str, float]) -> Interval:
    return _of_several(mean_interval(list(values.values()), kind="benchmarks"))


def _of_several(found: Interval) -> Interval:
    """Without its ends where there are too few benchmarks."""
    return found if found.n >= LEAST_BENCHMARKS else replace(found, low=nan, high=nan)
