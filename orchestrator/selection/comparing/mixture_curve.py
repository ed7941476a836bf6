"""The chosen snapshots over P_BN(lambda): accuracies, the order of methods, linear mixtures."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import nan

from fsl_sweep.orchestrator.records.protocol import PlannedProtocol
from fsl_sweep.orchestrator.replay.source import Source
from fsl_sweep.orchestrator.selection.comparing.comparison import (
    MethodComparison,
    compare_methods,
    compare_over_seeds,
)
from fsl_sweep.orchestrator.selection.methods import Summary, summarise
from fsl_sweep.orchestrator.selection.resample import ResampledCell, resample
from fsl_sweep.orchestrator.selection.results import Selected
from fsl_sweep.orchestrator.selection.select import measured
from fsl_sweep.orchestrator.selectors.mixture import mixed
from fsl_sweep.orchestrator.statistics.comparison import LEVEL, Comparison, family
from fsl_sweep.orchestrator.statistics.intervals import Interval
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
    methods: tuple[Comparison, ...]


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


def band(cell: Summary) -> tuple[float, float, str]:
    """Return two ends and over what: an interval over seeds, both of 2 seeds, or over tasks."""
    values = [choice.means["novel"] for choice in cell.choices]
    if len(values) == 2:
        return min(values), max(values), "both seeds"
    interval = cell.novel if len(values) > 2 else cell.choices[0].novel
    return interval.low, interval.high, "95 % over seeds" if len(values) > 2 else "95 % over tasks"


def mixtures_of(source: Source) -> tuple[PlannedProtocol, ...]:
    """Return the protocols of P_BN(lambda) with the main one's episodes and classes, by lambda.

    Of several with one lambda it is that with the most report tasks.
    """
    main, mixtures = source.protocol(), dict[float, PlannedProtocol]()
    for planned in sorted(source.protocols(), key=lambda p: p.protocol.tasks.report_tasks):
        protocol = planned.protocol
        same = main is not None and protocol.episode == main.protocol.episode
        elsewhere = (protocol.classes, protocol.benchmark) != (None, None)
        if same and protocol.mixture is not None and not elsewhere:
            mixtures[protocol.mixture] = planned
    return tuple(mixtures[weight] for weight in sorted(mixtures))


def mixture_curve(
    source: Source,
    selected: Selected,
    by: PlannedProtocol | None = None,
    only: Collection[str] | None = None,
    complete: bool = True,
) -> MixtureCurve:
    """Measure the choices of one strategy at each lambda that any of them has.

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
        choices = measured(selected, trials)
        if cells := {cell.method: cell for cell in summarise(choices)}:
            protocols.append(planned)
            tables.append(cells)
            drawn.append(resample(trials, choices))
    main = [cell for cell in summarise(selected) if all(cell.method in table for table in tables)]
    weights = tuple(planned.protocol.mixture or 0.0 for planned in protocols)
    rows = [[table[cell.method] for cell in main] for table in tables]
    gaps = len(main) * sum(0 < weight < 1 for weight in weights)
    return MixtureCurve(
        protocols=tuple(protocols),
        weights=weights,
        methods=tuple(
            _method(cell, [table[cell.method] for table in tables], weights, gaps) for cell in main
        ),
        pairs=_pairs(weights, rows, drawn, complete),
        repeated=all(len(again) == len(table) for again, table in zip(drawn, tables, strict=True)),
    )


def _method(
    main: Summary, cells: Sequence[Summary], weights: Sequence[float], count: int
) -> MethodCurve:
    """Return the curve of one method, with its part of ``count`` simultaneous intervals."""
    base, novel = main.common_tasks("base"), main.common_tasks()
    gaps: list[Interval | None] = []
    for cell, weight in zip(cells, weights, strict=True):
        tasks = cell.common_tasks()
        if weight in (0, 1) or base is None or novel is None or tasks is None:
            gaps.append(None)
        else:
            gaps.append(mixture_gap(tasks, base, novel, weight, 1 - LEVEL / count))
    linear = (mixed(1 - weight, main.base.mean, main.novel.mean) for weight in weights)
    return MethodCurve(main.method, tuple(cells), tuple(linear), tuple(gaps))


def _pairs(
    weights: Sequence[float],
    rows: Sequence[Sequence[Summary]],
    drawn: Sequence[Sequence[ResampledCell]],
    complete: bool,
) -> tuple[PairCurve, ...]:
    """Compare each pair of methods, from its cells at each lambda."""
    repeated = zip(rows, drawn, strict=True)
    snapshots = _corrected([compare_methods(row) for row in rows])
    methods = _corrected([compare_over_seeds(*both, complete=complete) for both in repeated])
    pairs: list[PairCurve] = []
    for (a, b), results in methods.items():
        effects = tuple(result.effect.mean for result in results)
        # Their intervals are of the family at one lambda.
        bare = tuple(replace(r, effect=replace(r.effect, low=nan, high=nan)) for r in results)
        where = crossings(weights, effects)
        pairs.append(PairCurve(a, b, effects, where, snapshots.get((a, b), ()), bare))
    return tuple(pairs)


def _corrected(
    rows: Sequence[Sequence[MethodComparison]],
) -> dict[tuple[str, str], tuple[Comparison, ...]]:
    """Return the results of each pair at each lambda, corrected over all; of complete pairs."""
    flat = [pair for row in rows for pair in row]
    results: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    for pair, result in zip(flat, family([pair.result for pair in flat]), strict=True):
        results[pair.a, pair.b].append(result)
    return {pair: tuple(every) for pair, every in results.items() if len(every) == len(rows)}
