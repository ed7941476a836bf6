"""What to know before believing the numbers of a report."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.answer.race import some
from fsl_sweep.orchestrator.selection.comparing.comparison import conflicting
from fsl_sweep.orchestrator.selection.completeness import Completeness, Stopped
from fsl_sweep.orchestrator.selectors.snapshot import TrainLoss
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.text.printed import counted

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.report.content import Report


def cautions_of(report: "Report") -> tuple[str, ...]:
    """Cautions as full sentences, the gravest first, without repetition."""
    weight, summaries, selected = report.base_weight, report.summaries, report.selected
    by = wording.by_metric(weight)
    found = [*_unfinished(report), *grave_cautions(report), *_lossless(report)]
    if orders := conflicting(report.ranked_by):
        found.append(
            f"The ranking of methods{by} depends on the strategy: {len(orders)} different orders "
            f"under {len(report.ranked_by)} strategies that read no novel score."
        )
    found += _intervals("NovelGen", [(one.method, one.novel, one.novel_tasks) for one in summaries])
    if weight is not None:
        cells = [(one.method, one.reported, one.reported_tasks) for one in summaries]
        found += _intervals(wording.mixture(weight), cells)
    if any(summary.novel.n > 1 for summary in summaries):
        found.append(wording.claims(summaries, bool(report.resampled), report.partly))
    results = [one.result.caution for one in report.comparisons]
    found += [f"Comparisons of these snapshots{by}: {one}." for one in results if one]
    if any(strategy.oracle for strategy in selected.strategies):
        found.append(
            "Strategies marked as oracle read novel scores: they are references, not results."
        )
    if any(summary.novel_tasks is not None for summary in summaries):
        shown = report.info.protocol
        found.append(
            "Intervals over tasks hold for these examples and classes (closed intervals: tasks "
            "share both); they say nothing about others."
            if shown is None or shown.protocol.tasks.replacement
            else "Intervals over tasks are open: no two tasks share an example. They hold for "
            "these classes, and say nothing about others."
        )
    return tuple(dict.fromkeys(found))


def grave_cautions(report: "Report") -> tuple[str, ...]:
    """What may make the answer wrong: failures, what is left out or damaged, and the plan's own."""
    lost = (*_failures(report), *stopped(report.completeness), *_left_out(report))
    return (*lost, *report.info.cautions)


def stopped(found: Completeness) -> Iterable[str]:
    """What a time budget stopped: of each method what is of unfinished training, or is missing."""
    for method in dict.fromkeys(one.method for one in found.stopped):
        own = [one for one in found.stopped if one.method == method]
        if begun := [one for one in own if one.epoch]:
            epochs = _span(one.epoch for one in begun)
            if planned := {one.planned for one in begun if one.planned}:
                epochs += f" of {_span(planned)}"
            yield (
                f"{method} was stopped by its budget in {_where(found, begun)}, after {epochs} "
                "epochs: its scores are of unfinished training."
            )
        if early := [one for one in own if not one.epoch]:
            yield (
                f"{method} was stopped by its budget in {_where(found, early)}, before its first "
                "snapshot: what depends on that is left out. Raise `budget.seconds`."
            )


def _where(found: Completeness, own: Sequence[Stopped]) -> str:
    """``seeds 0, 1``, and how many trials of the method that is, unless it has one a seed."""
    seeds = sorted({one.seed for one in own})
    shown = f"seed{'s' if seeds[1:] else ''} {', '.join(map(str, seeds))}"
    planned = found.trials[own[0].method][1]
    if planned == found.seeds[own[0].method][1]:
        return shown
    return f"{shown} ({len(own)} of {counted(planned, 'trial')})"


def _span(values: Iterable[int]) -> str:
    """``2``, or ``2 to 5``."""
    found = sorted({*values})
    return " to ".join(map(str, dict.fromkeys([found[0], found[-1]])))


def _failures(report: "Report") -> Iterable[str]:
    """Seeds that a failed trial removed: what is left may be the seeds where nothing went wrong."""
    lost: dict[str, set[int]] = {}
    for one in report.completeness.problems:
        if one.reason.startswith("failed"):
            lost.setdefault(one.method, set()).add(one.seed)
    there = {one.method for one in report.summaries}
    if shown := [
        f"{method} (seed {', '.join(map(str, sorted(seeds)))})"
        for method, seeds in lost.items()
        if method in there
    ]:
        yield (
            "What is reported is of the seeds without a failed trial, which may flatter a method "
            f"that fails where it is bad. Left out: {', '.join(shown)}."
        )


def _unfinished(report: "Report") -> Iterable[str]:
    reported, by, found = report.info.protocol, report.info.chosen_by, report.completeness
    if found.failed or found.missing:
        yield "The run is incomplete: run the sweep again, or complete the table, to finish it."
        if by is not None and by.name != MAIN:
            yield (
                f"Only trials that are measured whole under {wording.protocol(by)} take part: "
                f"{wording.measuring(by, every=True)} measures them."
            )
    if found.unmeasured and reported is not None:
        yield wording.unmeasured(found.unmeasured, reported, report.info.as_planned)
    if report.partly is not None and 0 < len(report.resampled) < len(report.summaries):
        yield (
            f'Strategies without "{wording.SELECTION}" choose snapshots in resamples that are not '
            f"measured under "
            f"{wording.protocol(report.partly)}: {wording.measuring(report.partly, every=True)} "
            "measures all."
        )


def _left_out(report: "Report") -> Iterable[str]:
    selected = report.selected
    for one in report.over_protocols:
        if one.damaged:
            yield (
                f"What was measured under {wording.protocol(one.planned)} is damaged: "
                f"{', '.join(one.damaged)}. `fsl-sweep verify RUN` names each file."
            )
    cells = {(summary.method, summary.strategy) for summary in report.summaries}
    under: dict[str, list[str]] = {}
    for method in selected.methods:
        lost = [s for s in selected.strategies if (method, s) not in cells]
        if lost and len(lost) == len(selected.strategies):
            yield f"{method} is left out of the table: {_why_left_out(report, method)}."
        elif shown := [str(s) for s in lost if not by_missing_loss(report, method, s.snapshot)]:
            under.setdefault(", ".join(shown), []).append(method)
    for strategies, methods in under.items():
        are = "is" if len(methods) == 1 else "are"
        yield f"{some(methods)} {are} left out under {strategies}."


def _lossless(report: "Report") -> Iterable[str]:
    """Methods that no strategy by training loss can have: nothing went wrong."""
    there = {one.method for one in report.summaries}
    methods = [m for m in report.selected.methods if m in there]
    names = report.info.snapshot
    if found := [m for m in methods if any(by_missing_loss(report, m, name) for name in names)]:
        has = "has" if len(found) == 1 else "have"
        yield f"{some(found)} {has} no training loss, and no snapshot that is chosen by it."


def by_missing_loss(report: "Report", method: str, snapshot: str | None) -> bool:
    """Whether a snapshot selector chooses by the training loss, and the method has none."""
    return snapshot == TrainLoss.name and method in report.lossless


def _why_left_out(report: "Report", method: str) -> str:
    """Why no strategy has a row for a method."""
    own = [one for one in report.left_out if one.method == method]
    if any(one.epoch is not None for one in own):
        return "chosen snapshots are not measured on the report tasks"
    if any(one.trial is not None and one.fold is None for one in own):
        return "some of its planned trials are not usable"
    return "no strategy could choose among its trials"


def _intervals(name: str, cells: Sequence[tuple[str, Interval, Interval | None]]) -> Iterable[str]:
    """Of cells of (method, interval over seeds, interval over tasks)."""
    for title, at in (("over seeds", 0), ("over tasks", 1)):
        where: dict[str, list[str]] = {}
        for method, *intervals in cells:
            one = intervals[at]
            if one is not None and one.caution:
                where.setdefault(one.caution, []).append(method)
        for caution, methods in where.items():
            of = "" if len(methods) == len(cells) else f" ({', '.join(dict.fromkeys(methods))})"
            yield f"{name} intervals {title}: {caution}{of}."
