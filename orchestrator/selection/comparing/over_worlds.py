"""Strategies and methods compared over several worlds: benchmarks with the same methods.

A world is one draw of everything that its trials share (classes, images, tasks), so that replicates
and methods within it are no independent evidence: each world counts once, and every interval is
over worlds, as DomainBed averages its domains (Gulrajani and Lopez-Paz, "In Search of Lost Domain
Generalization", section 4).
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

LEAST_WORLDS = 3
"""Fewer decide nothing, and have no interval."""

EQUAL, ALL_EQUAL = 1e-9, "all differences are equal"
"""Differences of accuracies that are nearer to each other are equal, and what is said of them."""


@dataclass(frozen=True)
class World:
    """One benchmark: whole replicates, what was selected from them, and whether all are there."""

    histories: Sequence[TrialHistory]
    selected: Selected
    summaries: Sequence[Summary]
    complete: bool = True


@dataclass(frozen=True)
class StrategyOverWorlds:
    """A strategy that all methods have in all worlds.

    Attributes:
        strategy: which one.
        regrets: by world, mean over methods of the mean over seeds.
        regret: their mean, with its interval over worlds.
        accuracies: by world, how often the strategy picks the better of two methods, in [0, 1]:
            see ``decisions``. Worlds without a pair that differs are left out.
        accuracy: their mean, with its interval over worlds, which may leave [0, 1] (see
            ``Interval``); None where there is none.
        against_least: as of ``StrategyResult``, paired over worlds.
    """

    strategy: Strategy
    regrets: Mapping[str, float]
    regret: Interval
    accuracies: Mapping[str, float]
    accuracy: Interval | None
    against_least: Comparison | None


@dataclass(frozen=True)
class MethodOverWorlds:
    """A method under one strategy in all worlds.

    Attributes:
        method: which one.
        means: by world, what methods are compared by, mean over seeds, in [0, 1].
        mean: their mean, with its interval over worlds.
    """

    method: str
    means: Mapping[str, float]
    mean: Interval


@dataclass(frozen=True)
class DifferenceOverWorlds:
    """Method a against method b, paired over worlds, after Holm's correction over all pairs.

    The pairs are those of all methods that some world has. The interval is at the level at which
    Holm's procedure tests the pair. Two worlds, and differences that are all equal, decide nothing:
    their spread is that of rounding.
    """

    a: str
    b: str
    result: Comparison


@dataclass(frozen=True)
class OverWorlds:
    """What several worlds say together.

    Attributes:
        worlds: their names.
        methods: under the leading strategy; those that every world has.
        differences: of every two of them.
        strategies: in the order asked for.
        lacking: strategies, and methods, that some world lacks.
        absent: by world, the methods of other worlds that it lacks under the leading strategy.
        caution: why no verdict is given, of methods or of strategies: some world lacks a method,
            or is incomplete; None where all have the same.
    """

    worlds: tuple[str, ...]
    methods: tuple[MethodOverWorlds, ...]
    differences: tuple[DifferenceOverWorlds, ...]
    strategies: tuple[StrategyOverWorlds, ...]
    lacking: tuple[str, ...]
    absent: Mapping[str, tuple[str, ...]]
    caution: str | None


def compare_over_worlds(worlds: Mapping[str, World], lead: Strategy) -> OverWorlds:
    """Compare what all worlds have; ``lead`` is the strategy that methods are shown under.

    Raises:
        ValueError: there are fewer than two worlds.
    """
    if len(worlds) < 2:
        raise ValueError("Worlds are compared over two or more.")
    methods, absent = _methods(worlds, lead)
    lost = dict.fromkeys(method for own in absent.values() for method in own)
    caution = _caution(worlds, absent, lead)
    every = {s: None for world in worlds.values() for s in world.selected.strategies}
    regrets = {s: found for s in every if len(found := _regrets(worlds, s)) == len(worlds)}
    return OverWorlds(
        worlds=tuple(worlds),
        methods=methods,
        differences=_differences(
            methods, comb(len(methods) + len(lost), 2), caution, _among_all(worlds)
        ),
        strategies=_strategies(worlds, regrets, caution),
        lacking=(*(str(s) for s in every if s not in regrets), *lost),
        absent=absent,
        caution=caution,
    )


def _strategies(
    worlds: Mapping[str, World],
    regrets: Mapping[Strategy, Mapping[str, float]],
    caution: str | None,
) -> tuple[StrategyOverWorlds, ...]:
    rows = {s: np.round(list(own.values()), 12) for s, own in regrets.items()}
    verdicts = against_least(rows, least_regret(rows), len(worlds))
    if caution is not None:
        verdicts = {
            s: replace(one, verdict="undecided", caution=caution) for s, one in verdicts.items()
        }
    right = {name: decisions(world) for name, world in worlds.items()}
    strategies = []
    for strategy, own in regrets.items():
        accuracies = {
            name: float(np.mean(found[strategy]))
            for name, found in right.items()
            if found.get(strategy)
        }
        strategies.append(
            StrategyOverWorlds(
                strategy=strategy,
                regrets=own,
                regret=_over(own),
                accuracies=accuracies,
                accuracy=_over(accuracies) if accuracies else None,
                against_least=verdicts.get(strategy),
            )
        )
    return tuple(strategies)


def decisions(world: World) -> dict[Strategy, list[float]]:
    """Whether each strategy picks the better of two methods, 1 or 0, for each pair and common seed.

    The strategy takes what it chose for each of the two, and its hyperparameter selector chooses
    between them as between two configurations: it sees only what it may read. The better method is
    the one whose snapshots by oracle / oracle, the reference of regret, have the higher NovelGen on
    the report tasks, mean over seeds; equal pairs are left out. A strategy that takes
    the first of two, whichever that is, has 0.5.
    """
    chosen, reference = Chosen(world.histories), _reference(world)
    found: dict[Strategy, list[float]] = {s: [] for s in world.selected.strategies}
    picks: dict[tuple[Strategy, int], dict[str, Pick]] = {}
    for one in (pick for own in world.selected.picks for pick in own.picks):
        picks.setdefault((one.strategy, one.snapshot.seed), {})[one.snapshot.method] = one
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


def _reference(world: World) -> dict[str, float]:
    """NovelGen of the choices of oracle / oracle by method, where every seed has one."""
    found: dict[str, list[float]] = {}
    for own in world.selected.picks:
        snapshots = [own.oracle, *(pick.snapshot for pick in own.picks)]
        methods = [one.method for one in snapshots if one is not None]
        if methods:
            value = float("nan") if own.oracle is None else own.oracle.mean("novel")
            found.setdefault(methods[0], []).append(value)
    means = {method: float(np.mean(values)) for method, values in found.items()}
    return {m: float(comparable(mean)) for m, mean in means.items() if np.isfinite(mean)}


def _regrets(worlds: Mapping[str, World], strategy: Strategy) -> dict[str, float]:
    """Of the worlds in which every method has the strategy, and a regret."""
    found: dict[str, float] = {}
    for name, world in worlds.items():
        own = [s.regret for s in world.summaries if s.strategy == strategy]
        methods = {one.method for one in world.summaries}
        known = [one.mean for one in own if one is not None]
        if known and len(known) == len(methods):
            found[name] = float(np.mean(known))
    return found


def _methods(
    worlds: Mapping[str, World], lead: Strategy
) -> tuple[tuple[MethodOverWorlds, ...], dict[str, tuple[str, ...]]]:
    """Those that every world has under the strategy, and the others by the worlds without them."""
    means: dict[str, dict[str, float]] = {}
    for name, world in worlds.items():
        for one in world.summaries:
            if one.strategy == lead:
                means.setdefault(one.method, {})[name] = one.reported.mean
    whole = {method: own for method, own in means.items() if len(own) == len(worlds)}
    shown = tuple(MethodOverWorlds(method, own, _over(own)) for method, own in whole.items())
    planned = {m: None for world in worlds.values() for m in world.selected.methods}
    without = {w: tuple(m for m in planned if w not in means.get(m, ())) for w in worlds}
    return shown, {world: own for world, own in without.items() if own}


def _caution(
    worlds: Mapping[str, World], absent: Mapping[str, Sequence[str]], lead: Strategy
) -> str | None:
    found = [f"{name} is incomplete" for name, one in worlds.items() if not one.complete]
    found += [f"{name} lacks {', '.join(own)} under {lead}" for name, own in absent.items()]
    return "; ".join(found) or None


def _among_all(worlds: Mapping[str, World]) -> set[str]:
    """The methods that answer among all base classes, in any world."""
    return {one.method for world in worlds.values() for one in world.summaries if one.among_all}


def _differences(
    methods: Sequence[MethodOverWorlds],
    family: int,
    caution: str | None,
    among_all: Collection[str],
) -> tuple[DifferenceOverWorlds, ...]:
    """Of every two methods; a pair of the ``family`` that is not known counts with a p of 1."""
    pairs = list(combinations(methods, 2))
    tables = [([*a.means.values()], [*b.means.values()]) for a, b in pairs]
    single = [compare(*both) for both in tables]
    p_values = [*(one.p_value for one in single), *[1.0] * (family - len(pairs))]
    corrected = zip(holm(p_values), holm_levels(p_values, LEVEL), strict=True)
    found: list[DifferenceOverWorlds] = []
    for (a, b), both, one, (p, level) in zip(pairs, tables, single, corrected, strict=False):
        apart, few = np.subtract(*both), None
        if len(apart) < FEW_SEEDS:
            few = f"only {len(apart)} worlds"
        if np.ptp(apart) < EQUAL:
            few = ALL_EQUAL
        if (a.method in among_all) != (b.method in among_all):
            few = AMONG_ALL
        decides = len(apart) >= LEAST_WORLDS and few not in (ALL_EQUAL, AMONG_ALL)
        known = decides and caution is None
        one = replace(
            one,
            verdict=one.verdict if known and p < LEVEL else "undecided",
            effect=replace(_of_several(paired_interval(*both, 1 - level)), caution=few),
            p_adjusted=float(p),
            caution=caution or few,
        )
        found.append(DifferenceOverWorlds(a.method, b.method, one))
    return tuple(found)


def _over(values: Mapping[str, float]) -> Interval:
    return _of_several(mean_interval(list(values.values()), kind="worlds"))


def _of_several(found: Interval) -> Interval:
    """Without its ends where there are too few worlds."""
    return found if found.n >= LEAST_WORLDS else replace(found, low=nan, high=nan)
