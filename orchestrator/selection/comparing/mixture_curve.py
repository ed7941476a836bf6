"""The chosen snapshots over P_BN(lambda): accuracies, the order of methods, linear mixtures."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.selection.comparing.comparison import compare_methods
from fsl_sweep.orchestrator.selection.comparing.over_seeds import (
    LEVEL,
    UNFINISHED,
    compare_over_seeds,
    undecided,
)
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.resample import ResampledCell, resample, resamples_for
from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import measured
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics.comparison import Comparison, correct_family
from fsl_sweep.orchestrator.statistics.intervals import Interval
from fsl_sweep.orchestrator.statistics.over_seeds import SeedDifference, correct_over_seeds
from fsl_sweep.orchestrator.statistics.sampling.mixtures import crossings, mixture_gap


@dataclass(frozen=True)
class MethodCurve:
    """One method at each lambda.

    Attributes:
        method: its name.
        cells: its chosen snapshots, whose ``novel`` is over P_BN(lambda).
        linear: (1 - lambda) BaseGen + lambda NovelGen of the same snapshots, mean over seeds.
        gaps: P_BN(lambda) minus that, of these snapshots over tasks; None at 0 and 1, where the
            two are one distribution, and where tasks are not common. Intervals are simultaneous
            over all methods and lambdas.
    """

    method: str
    cells: tuple[Summary, ...]
    linear: tuple[float, ...]
    gaps: tuple[Interval | None, ...]


@dataclass(frozen=True)
class PairCurve:
    """Method a against method b at each lambda: all pairs and lambdas are one family (Holm).

    Attributes:
        effects: accuracy of a minus that of b.
        crossings: lambdas at which their order changes.
        snapshots: of these snapshots, over tasks; empty where tasks are not common.
        methods: of the methods, over seeds, without intervals.
    """

    a: str
    b: str
    effects: tuple[float, ...]
    crossings: tuple[float, ...]
    snapshots: tuple[Comparison, ...]
    methods: tuple[SeedDifference, ...]


@dataclass(frozen=True)
class MixtureCurve:
    """Methods over P_BN(lambda).

    Attributes:
        protocols, weights: one for each lambda, ascending.
        methods: those that every protocol has measured.
        repeated: whether the selection was repeated on other tasks, which a verdict on methods
            needs: all snapshots that it may choose are measured.
    """

    protocols: tuple[PlannedProtocol, ...]
    weights: tuple[float, ...]
    methods: tuple[MethodCurve, ...]
    pairs: tuple[PairCurve, ...]
    repeated: bool


def band(cell: "Summary") -> tuple[float, float, str]:
    """Ends, and over what: an interval over 3 seeds or more, both of 2 seeds, or over tasks."""
    values = [one.means["novel"] for one in cell.choices]
    if len(values) == 2:
        return min(values), max(values), "both seeds"
    interval = cell.novel if len(values) > 2 else cell.choices[0].novel
    return interval.low, interval.high, "95 % over seeds" if len(values) > 2 else "95 % over tasks"


def mixtures_of(source: Source) -> tuple[PlannedProtocol, ...]:
    """The protocols of P_BN(lambda) with the episodes and classes of the main one, by lambda.

    Of several with one lambda it is that with the most report tasks.
    """
    main, found = source.protocol(), dict[float, PlannedProtocol]()
    own = sorted(source.protocols(), key=lambda one: one.protocol.tasks.report_tasks)
    for one in own:
        of = one.protocol
        same = main is not None and of.episode == main.protocol.episode
        if same and of.mixture is not None and (of.classes, of.benchmark) == (None, None):
            found[of.mixture] = one
    return tuple(found[weight] for weight in sorted(found))


def mixture_curve(
    source: Source,
    selected: Selected,
    by: PlannedProtocol | None = None,
    only: Collection[str] | None = None,
    complete: bool = True,
) -> MixtureCurve:
    """Compare the choices of one strategy at each lambda that any of them is measured at.

    Methods that are not measured at all of these take no part.

    Args:
        source: of the records.
        selected: what the strategy selected.
        by: the protocol that it chose by; the main one by default.
        only: ids of the trials of complete seeds; all by default.
        complete: whether every planned seed is there; if not, nothing is decided of methods.
    """
    protocols: list[PlannedProtocol] = []
    tables: list[dict[str, Summary]] = []
    drawn: list[Sequence[ResampledCell]] = []
    for planned in mixtures_of(source):
        trials = source.histories(planned, by or source.protocol(), only)
        own = measured(selected, trials)
        if cells := {one.method: one for one in summarise(own)}:
            count = resamples_for(sum(len(one.epochs) for one in trials))
            protocols.append(planned)
            tables.append(cells)
            drawn.append(resample(trials, own, resamples=count))
    main = [one for one in summarise(selected) if all(one.method in own for own in tables)]
    weights = tuple(one.protocol.mixture or 0.0 for one in protocols)
    rows = [[own[one.method] for one in main] for own in tables]
    columns = [[own[one.method] for own in tables] for one in main]
    family = len(main) * sum(0 < weight < 1 for weight in weights)
    return MixtureCurve(
        protocols=tuple(protocols),
        weights=weights,
        methods=tuple(
            _along(one, cells, weights, family) for one, cells in zip(main, columns, strict=True)
        ),
        pairs=_pairs(weights, rows, drawn, complete),
        repeated=all(len(own) == len(table) for own, table in zip(drawn, tables, strict=True)),
    )


def _along(
    main: Summary, cells: Sequence[Summary], weights: Sequence[float], family: int
) -> MethodCurve:
    base, novel = main.common_tasks("base"), main.common_tasks()
    gaps: list[Interval | None] = []
    for cell, weight in zip(cells, weights, strict=True):
        own = cell.common_tasks()
        if weight in (0, 1) or base is None or novel is None or own is None:
            gaps.append(None)
        else:
            gaps.append(mixture_gap(own, base, novel, weight, 1 - LEVEL / family))
    linear = (mixed(1 - weight, main.base.mean, main.novel.mean) for weight in weights)
    return MethodCurve(main.method, tuple(cells), tuple(linear), tuple(gaps))


def _pairs(
    weights: Sequence[float],
    rows: Sequence[Sequence[Summary]],
    drawn: Sequence[Sequence[ResampledCell]],
    complete: bool,
) -> tuple[PairCurve, ...]:
    """Each pair of methods, from its cells at each lambda."""
    snapshots = _corrected([compare_methods(own) for own in rows], correct_family)
    again = [compare_over_seeds(own, cells) for own, cells in zip(rows, drawn, strict=True)]
    found: list[PairCurve] = []
    for (a, b), own in _corrected(again, correct_over_seeds).items():
        effects = tuple(one.effect for one in own)
        # Their intervals are of the family at one lambda.
        methods = tuple(replace(one, low=nan, high=nan) for one in own)
        if not complete:
            methods = tuple(undecided(one, UNFINISHED) for one in methods)
        where = crossings(weights, effects)
        found.append(PairCurve(a, b, effects, where, snapshots.get((a, b), ()), methods))
    return tuple(found)


def _corrected(
    found: Sequence[Sequence[Any]], correct: Callable[[Sequence[Any]], Sequence[Any]]
) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Results of each pair at each lambda, corrected over all; of pairs that have all of them."""
    flat = [one for own in found for one in own]
    by_pair: dict[tuple[str, str], list[Any]] = {}
    for one, result in zip(flat, correct([one.result for one in flat]), strict=True):
        by_pair.setdefault((one.a, one.b), []).append(result)
    return {pair: tuple(own) for pair, own in by_pair.items() if len(own) == len(found)}
