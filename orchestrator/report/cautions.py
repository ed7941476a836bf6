"""What to know before believing the numbers of a report."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.selection.comparison import MethodComparison, Ranking
from fsl_sweep.orchestrator.selection.methods import Summary
from fsl_sweep.orchestrator.selection.select import Selected
from fsl_sweep.orchestrator.statistics import Interval


def cautions_of(
    planned: Iterable[str],
    complete: bool,
    selected: Selected,
    summaries: Sequence[Summary],
    comparisons: Sequence[MethodComparison],
    rankings: Sequence[Ranking],
    base_weight: float | None = None,
    resampled: bool = False,
) -> tuple[str, ...]:
    """Cautions as full sentences, the gravest first, without repetition."""
    by = wording.by_metric(base_weight)
    found = list(_incompleteness(complete, selected, summaries))
    found += planned
    found += _ranking(rankings, by)
    found += _intervals("NovelGen", [(one.method, one.novel, one.novel_tasks) for one in summaries])
    if base_weight is not None:
        cells = [(one.method, one.reported, one.reported_tasks) for one in summaries]
        found += _intervals(wording.mixture(base_weight), cells)
    if any(summary.novel.n > 1 for summary in summaries):
        found.append(wording.claims(summaries, resampled))
    found += _comparisons(comparisons, by)
    if any(strategy.oracle for strategy in selected.strategies):
        found.append(
            "Strategies marked as oracle read novel scores: they are references, not results."
        )
    if any(summary.novel_tasks is not None for summary in summaries):
        found.append(
            "Intervals over tasks hold for these examples and classes (closed intervals: tasks "
            "share both); they say nothing about others."
        )
    return tuple(dict.fromkeys(found))


def _incompleteness(
    complete: bool, selected: Selected, summaries: Sequence[Summary]
) -> Iterable[str]:
    if not complete:
        yield "The run is incomplete: run the sweep again, or complete the table, to finish it."
    cells = {(summary.method, summary.strategy) for summary in summaries}
    for method in selected.methods:
        lost = [s for s in selected.strategies if (method, s) not in cells]
        if lost and len(lost) == len(selected.strategies):
            yield f"{method} is left out of the table: {why_left_out(selected, method)}."
        elif lost:
            yield f"{method} is left out under {', '.join(map(str, lost))}."


def why_left_out(selected: Selected, method: str) -> str:
    """Why no strategy has a row for a method."""
    own = [one for one in selected.left_out if one.method == method]
    if any(one.trial is not None and one.fold is None for one in own):
        return "some of its planned trials are not usable"
    return "no strategy could choose among its trials"


def _ranking(rankings: Sequence[Ranking], by: str) -> Iterable[str]:
    orders = {ranking.methods for ranking in rankings}
    if len(orders) > 1:
        yield (
            f"The ranking of methods{by} depends on the strategy: {len(orders)} different orders "
            f"under {len(rankings)} strategies."
        )


def _intervals(name: str, cells: Sequence[tuple[str, Interval, Interval | None]]) -> Iterable[str]:
    """Of cells of (method, interval over seeds, interval over tasks)."""
    for title, intervals in (
        ("over seeds", [(method, seeds) for method, seeds, _ in cells]),
        ("over tasks", [(method, tasks) for method, _, tasks in cells]),
    ):
        where: dict[str, list[str]] = {}
        for method, one in intervals:
            if one is not None and one.caution:
                where.setdefault(one.caution, []).append(method)
        for caution, methods in where.items():
            of = "" if len(methods) == len(cells) else f" ({', '.join(dict.fromkeys(methods))})"
            yield f"{name} intervals {title}: {caution}{of}."


def _comparisons(comparisons: Sequence[MethodComparison], by: str) -> Iterable[str]:
    for caution in dict.fromkeys(c.result.caution for c in comparisons if c.result.caution):
        yield f"Comparisons of these snapshots{by}: {caution}."
