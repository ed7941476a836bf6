"""Strategies and methods compared over several benchmarks that have the same methods.

A benchmark is one draw of everything that its trials share (classes, images, tasks), so that its
replicates and methods are no independent evidence: each benchmark counts once, and every interval
is over benchmarks, as DomainBed averages its domains (Gulrajani and Lopez-Paz, "In Search of Lost
Domain Generalization", section 4).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb, nan

import numpy as np

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.selection.choices import Chosen, single_selector
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    AMONG_ALL,
    MethodComparison,
    flattered,
)
from fsl_sweep.orchestrator.selection.comparing.strategies import against_least, least_regret
from fsl_sweep.orchestrator.selection.methods import Summary, of_all_seeds
from fsl_sweep.orchestrator.selection.results import Selected, Selection, Strategy
from fsl_sweep.orchestrator.selectors import Candidate, apply
from fsl_sweep.orchestrator.statistics import (
    Comparison,
    Interval,
    compare,
    family,
    mean_interval,
    paired_interval,
)
from fsl_sweep.orchestrator.statistics.intervals import FEW_SEEDS
from fsl_sweep.orchestrator.statistics.ties import comparable

LEAST_BENCHMARKS = 3
"""Fewer decide nothing, and have no interval."""

EQUAL, ALL_EQUAL = 1e-9, "all differences are equal"
"""Differences of accuracies that are nearer to each other are equal, and what is said of them."""


@dataclass(frozen=True)
class BenchmarkEvidence:
    """One benchmark: its complete seeds, what was selected from them, and whether all are there."""

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
class OverBenchmarks:
    """What several benchmarks say together.

    Attributes:
        benchmarks: their names.
        methods: under the leading strategy; those that every benchmark has.
        differences: of every two of them, paired over benchmarks, after Holm's correction over the
            pairs of all methods that some benchmark has. Two benchmarks, and differences that are
            all equal, decide nothing: their spread is that of rounding.
        strategies: in the order of the selections.
        lacking: strategies, and methods, that some benchmark lacks.
        absent: by benchmark, the methods of others that it lacks under the leading strategy.
        diverged: the methods that lost seeds, and in which of which benchmarks, in words: a
            difference in favour of one is undecided.
        caution: why no verdict is given, of methods or of strategies: some benchmark lacks a
            method, or is incomplete; None where all have the same.
    """

    benchmarks: tuple[str, ...]
    methods: tuple[MethodOverBenchmarks, ...]
    differences: tuple[MethodComparison, ...]
    strategies: tuple[StrategyOverBenchmarks, ...]
    lacking: tuple[str, ...]
    absent: Mapping[str, tuple[str, ...]]
    diverged: Mapping[str, str]
    caution: str | None


def compare_over_benchmarks(
    benchmarks: Mapping[str, BenchmarkEvidence], lead: Strategy
) -> OverBenchmarks:
    """Compare what all benchmarks have; ``lead`` is the strategy that methods are shown under.

    Raises:
        ValueError: there are fewer than two benchmarks.
    """
    if len(benchmarks) < 2:
        raise ValueError("Methods are compared over two benchmarks or more.")
    methods, absent = _methods(benchmarks, lead)
    lacking = dict.fromkeys(method for names in absent.values() for method in names)
    caution = _caution(benchmarks, absent, lead)
    every = {s: None for evidence in benchmarks.values() for s in evidence.selected.strategies}
    regrets = {s: known for s in every if len(known := _regrets(benchmarks, s)) == len(benchmarks)}
    among_all = {c.method for e in benchmarks.values() for c in e.summaries if c.among_all}
    count, lost = comb(len(methods) + len(lacking), 2), _lost(benchmarks, lead)
    return OverBenchmarks(
        benchmarks=tuple(benchmarks),
        methods=methods,
        differences=_differences(methods, lead, count, among_all, lost, caution),
        strategies=_strategies(benchmarks, regrets, caution),
        lacking=(*(str(s) for s in every if s not in regrets), *lacking),
        absent=absent,
        diverged=lost,
        caution=caution,
    )


def _strategies(
    benchmarks: Mapping[str, BenchmarkEvidence],
    regrets: Mapping[Strategy, Mapping[str, float]],
    caution: str | None,
) -> tuple[StrategyOverBenchmarks, ...]:
    rows = {s: np.round(list(by_name.values()), 12) for s, by_name in regrets.items()}
    verdicts = against_least(rows, least_regret(rows), len(benchmarks))
    right = {name: decisions(evidence) for name, evidence in benchmarks.items()}
    strategies = []
    for strategy, by_name in regrets.items():
        accuracies = {
            name: float(np.mean(decided[strategy]))
            for name, decided in right.items()
            if decided.get(strategy)
        }
        verdict = verdicts.get(strategy)
        strategies.append(
            StrategyOverBenchmarks(
                strategy=strategy,
                regrets=by_name,
                regret=_over(by_name),
                accuracies=accuracies,
                accuracy=_over(accuracies) if accuracies else None,
                against_least=verdict and verdict.undecided(caution),
            )
        )
    return tuple(strategies)


def decisions(evidence: BenchmarkEvidence) -> dict[Strategy, list[float]]:
    """Return how often each strategy picks the better of two methods, by pair and common seed.

    The strategy takes what it chose for each of the two, and its hyperparameter selector chooses
    between them as between two configurations: it sees only what it may read. The better method is
    the one whose snapshots by oracle / oracle, the reference of regret, have the higher NovelGen on
    the report tasks, mean over seeds; equal pairs are left out. It is 1 or 0, and 0.5 for a
    strategy that takes the first of two, whichever that is.
    """
    chosen, reference = Chosen(evidence.histories), _reference(evidence)
    right: dict[Strategy, list[float]] = {s: [] for s in evidence.selected.strategies}
    picks: dict[tuple[Strategy, int], dict[str, Selection]] = defaultdict(dict)
    for pick in evidence.selected.picks:
        picks[pick.strategy, pick.seed][pick.method] = pick
    for (strategy, _), by_method in picks.items():
        selector = single_selector(strategy.hyperparameter)
        for a, b in combinations([by_method[m] for m in by_method if m in reference], 2):
            lead = reference[a.method] - reference[b.method]
            if lead == 0:
                continue
            candidates = [
                Candidate(p.trial, p.hyperparameters, p.epoch, chosen.history(p.snapshot.history))
                for p in (a, b)
            ]
            candidates = chosen.with_folds(candidates, strategy.snapshot, selector)
            try:
                taken = [apply(selector, order) for order in (candidates, candidates[::-1])]
            except SelectionError:
                continue
            better = candidates[0 if lead > 0 else 1]
            right[strategy].append(float(np.mean([candidate is better for candidate in taken])))
    return right


def _reference(evidence: BenchmarkEvidence) -> dict[str, float]:
    """Return NovelGen of the choices of oracle / oracle by method, where every seed has one."""
    values: dict[str, list[float]] = defaultdict(list)
    for (method, _), oracle in evidence.selected.oracles.items():
        values[method].append(nan if oracle is None else oracle.mean("novel"))
    means = {method: float(np.mean(by_seed)) for method, by_seed in values.items()}
    return {m: float(comparable(mean)) for m, mean in means.items() if np.isfinite(mean)}


def _regrets(benchmarks: Mapping[str, BenchmarkEvidence], strategy: Strategy) -> dict[str, float]:
    """Return the regret in each benchmark in which every method has the strategy, and a regret.

    A method that lost seeds by this strategy only, because they diverged, does not have it.
    """
    regrets: dict[str, float] = {}
    for name, evidence in benchmarks.items():
        every = of_all_seeds(evidence.summaries)
        cells = [cell for cell in every if cell.strategy == strategy]
        known = [cell.regret.mean for cell in cells if cell.regret is not None]
        if known and len(known) == len({cell.method for cell in evidence.summaries}):
            regrets[name] = float(np.mean(known))
    return regrets


def _methods(
    benchmarks: Mapping[str, BenchmarkEvidence], lead: Strategy
) -> tuple[tuple[MethodOverBenchmarks, ...], dict[str, tuple[str, ...]]]:
    """Return the methods that every benchmark has, and the others by benchmarks without them."""
    means: dict[str, dict[str, float]] = defaultdict(dict)
    for name, evidence in benchmarks.items():
        for cell in evidence.summaries:
            if cell.strategy == lead:
                means[cell.method][name] = cell.reported.mean
    everywhere = {m: by_name for m, by_name in means.items() if len(by_name) == len(benchmarks)}
    shown = tuple(
        MethodOverBenchmarks(m, by_name, _over(by_name)) for m, by_name in everywhere.items()
    )
    planned = {m: None for evidence in benchmarks.values() for m in evidence.selected.methods}
    lacks = {b: tuple(m for m in planned if b not in means.get(m, ())) for b in benchmarks}
    return shown, {name: methods for name, methods in lacks.items() if methods}


def _caution(
    benchmarks: Mapping[str, BenchmarkEvidence], absent: Mapping[str, Sequence[str]], lead: Strategy
) -> str | None:
    reasons = [f"{name} is incomplete" for name, e in benchmarks.items() if not e.complete]
    reasons += [f"{name} lacks {', '.join(names)} under {lead}" for name, names in absent.items()]
    return "; ".join(reasons) or None


def _lost(benchmarks: Mapping[str, BenchmarkEvidence], lead: Strategy) -> dict[str, str]:
    """Say of methods in which seeds of which benchmarks they diverged, as of `flattered`."""
    lost: dict[str, list[str]] = {}
    for name, evidence in benchmarks.items():
        for cell in evidence.summaries:
            if cell.strategy == lead and cell.lost_seeds:
                lost.setdefault(cell.method, []).append(f"{cell.lost_seeds} of {name}")
    return {method: ", ".join(said) for method, said in lost.items()}


def _differences(
    methods: Sequence[MethodOverBenchmarks],
    lead: Strategy,
    count: int,
    among_all: set[str],
    lost: Mapping[str, str],
    caution: str | None,
) -> tuple[MethodComparison, ...]:
    """Compare every two methods; of a family of ``count`` pairs the others are not known."""
    pairs = list(combinations(methods, 2))
    tables = [([*a.means.values()], [*b.means.values()]) for a, b in pairs]
    corrected = family(
        [compare(*table) for table in tables],
        [partial(paired_interval, *table) for table in tables],
        absent=count - len(pairs),
    )
    differences: list[MethodComparison] = []
    for (a, b), table, result in zip(pairs, tables, corrected, strict=True):
        apart, why = np.subtract(*table), None
        if len(apart) < FEW_SEEDS:
            why = f"only {len(apart)} benchmarks"
        if np.ptp(apart) < EQUAL:
            why = ALL_EQUAL
        if (a.method in among_all) != (b.method in among_all):
            why = AMONG_ALL
        if diverged := flattered(result, lost.get(a.method), lost.get(b.method)):
            why = diverged
        effect = replace(_of_several(result.effect), caution=why)
        result = replace(result, effect=effect, caution=caution or why)
        few = len(apart) < LEAST_BENCHMARKS
        if caution or few or diverged or why in (ALL_EQUAL, AMONG_ALL):
            result = replace(result, verdict="undecided")
        differences.append(MethodComparison(lead, a.method, b.method, result))
    return tuple(differences)


def _over(values: Mapping[str, float]) -> Interval:
    return _of_several(mean_interval(list(values.values()), kind="benchmarks"))


def _of_several(interval: Interval) -> Interval:
    """Return it without its ends where there are too few benchmarks."""
    return interval if interval.n >= LEAST_BENCHMARKS else replace(interval, low=nan, high=nan)
