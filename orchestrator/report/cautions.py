"""What to know before believing the numbers of a report."""

from collections.abc import Iterable, Sequence

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.report import wording
from fsl_sweep.orchestrator.report.content import BenchmarksContent, Content, RunContent
from fsl_sweep.orchestrator.report.wording import some
from fsl_sweep.orchestrator.selection.comparing.comparison import conflicting
from fsl_sweep.orchestrator.selection.completeness import Completeness
from fsl_sweep.orchestrator.selectors.snapshot import TrainLoss
from fsl_sweep.orchestrator.statistics import Interval
from fsl_sweep.orchestrator.text.commands import on_each
from fsl_sweep.orchestrator.text.printed import counted


def cautions_of(report: Content) -> tuple[str, ...]:
    """Return cautions as full sentences, the gravest first, without repetition.

    Of several benchmarks those about missing methods come first, then those of each benchmark; one
    that all share is listed once.
    """
    if isinstance(report, BenchmarksContent):
        return tuple(_of_benchmarks(report))
    weight, summaries, selected = report.base_weight, report.summaries, report.selected
    places = report.info.places
    by = wording.by_metric(weight)
    cautions = [*_unfinished(report), *grave_cautions(report), *_lossless(report)]
    cautions += filter(None, [report.environments.caution])
    if orders := conflicting(report.ranked_by):
        cautions.append(
            f"The ranking of methods{by} depends on the strategy: {len(orders)} different orders "
            f"under {len(report.ranked_by)} strategies that read no novel score."
        )
    cautions += _intervals("NovelGen", [(c.method, c.novel, c.novel_tasks) for c in summaries])
    if weight is not None:
        cells = [(c.method, c.reported, c.reported_tasks) for c in summaries]
        cautions += _intervals(wording.mixture(weight), cells)
    if any(summary.novel.n > 1 for summary in summaries):
        cautions.append(wording.claims(summaries, bool(report.resampled), report.partly, places))
    results = [pair.result.caution for pair in report.comparisons]
    cautions += [f"Comparisons of these snapshots{by}: {text}." for text in results if text]
    if any(strategy.oracle for strategy in selected.strategies):
        cautions.append(
            "Strategies marked as oracle read novel scores: they are references, not results."
        )
    if any(summary.novel_tasks is not None for summary in summaries):
        planned = report.info.protocol
        cautions.append(
            "Intervals over tasks hold for these examples and classes (closed intervals: tasks "
            "share both); they say nothing about others."
            if planned is None or planned.protocol.tasks.replacement
            else "Intervals over tasks are open: no two tasks share an example. They hold for "
            "these classes, and say nothing about others."
        )
    return tuple(dict.fromkeys(cautions))


def grave_cautions(report: RunContent) -> tuple[str, ...]:
    """Return what may make the answer wrong: what is lost or stopped, and the plan's cautions."""
    ended = (*stopped(report.completeness), *_diverged(report))
    lost = (*_failures(report), *ended, *_left_out(report), *_copies(report))
    return (*lost, *report.info.cautions)


def stopped(completeness: Completeness) -> Iterable[str]:
    """Say of each method what its time budget stopped: unfinished training, or what is missing."""
    for method in dict.fromkeys(trial.method for trial in completeness.stopped):
        trials = [trial for trial in completeness.stopped if trial.method == method]
        if begun := [trial for trial in trials if not trial.stopped_early]:
            epochs = _span(int(trial.epochs[-1]) for trial in begun)
            if planned := {trial.planned_epochs for trial in begun if trial.planned_epochs}:
                epochs += f" of {_span(planned)}"
            yield (
                f"{method} was stopped by its budget in {_where(completeness, begun)}, after "
                f"{epochs} epochs: its scores are of unfinished training."
            )
        if early := [trial for trial in trials if trial.stopped_early]:
            yield (
                f"{method} was stopped by its budget in {_where(completeness, early)}, before its "
                "first snapshot: what depends on that is left out. Raise `budget.seconds`."
            )


def _of_benchmarks(report: BenchmarksContent) -> Iterable[str]:
    for benchmark, methods in report.absent.items():
        yield (
            f"{benchmark} lacks {some(methods)} under {report.lead}: nothing is decided over "
            "benchmarks, and its regret and right of two are over other methods."
        )
    cautions = {name: cautions_of(content) for name, content in report.reports.items()}
    first, *others = cautions.values()
    shared = [text for text in first if all(text in texts for texts in others)]
    yield from shared
    for benchmark, texts in cautions.items():
        yield from (f"{benchmark}: {text}" for text in texts if text not in shared)


def _where(completeness: Completeness, trials: Sequence[TrialHistory]) -> str:
    """Write ``seeds 0, 1``, and how many trials that is, unless it is one a seed."""
    method, seeds = trials[0].method, sorted({trial.seed for trial in trials})
    text = f"seed{'s' if seeds[1:] else ''} {', '.join(map(str, seeds))}"
    planned = completeness.trials[method][1]
    if planned == completeness.seeds[method][1]:
        return text
    return f"{text} ({len(trials)} of {counted(planned, 'trial')})"


def _span(values: Iterable[int]) -> str:
    """Write ``2``, or ``2 to 5``."""
    ends = sorted({*values})
    return " to ".join(map(str, dict.fromkeys([ends[0], ends[-1]])))


def _failures(report: RunContent) -> Iterable[str]:
    """Name seeds that a failed trial removed: the others may be those where all went well."""
    lost: dict[str, set[int]] = {}
    for problem in report.completeness.problems:
        if problem.reason.startswith("failed"):
            lost.setdefault(problem.method, set()).add(problem.seed)
    reported = {cell.method for cell in report.summaries}
    if names := [
        f"{method} (seed {', '.join(map(str, sorted(seeds)))})"
        for method, seeds in lost.items()
        if method in reported
    ]:
        yield (
            "Only seeds without a failed trial are reported; this flatters a method that fails on "
            f"its worst seeds. Left out: {', '.join(names)}."
        )


def _unfinished(report: RunContent) -> Iterable[str]:
    reported, by, completeness = report.info.protocol, report.info.chosen_by, report.completeness
    count = completeness.stopped_by_rule
    if count and completeness.early is None:  # else the banner says more
        yield (
            f"{counted(count, 'trial')} of {completeness.planned} "
            f"{'was' if count == 1 else 'were'} stopped before the end of training: all strategies "
            "choose among the others only."
        )
    places = report.info.places
    if completeness.failed or completeness.missing:
        yield "The run is incomplete: run the sweep again, or complete the table, to finish it."
        if by is not None and by.name != MAIN:
            command = wording.measuring(by, places, every=True)
            yield (
                "Only trials with every snapshot measured under "
                f"{wording.protocol(by)} take part: {command} measures them."
            )
    if completeness.unmeasured and reported is not None:
        yield wording.unmeasured(completeness.unmeasured, reported, report.info.as_planned, places)
    if report.partly is not None and 0 < len(report.resampled) < len(report.summaries):
        yield (
            f'Strategies without "{wording.SELECTION}" choose snapshots in resamples that are not '
            f"measured under {wording.protocol(report.partly)}: "
            f"{wording.measuring(report.partly, places, every=True)} measures all."
        )


def _diverged(report: RunContent) -> Iterable[str]:
    """Name the seeds in which every configuration of a method diverged, by strategy."""
    strategies: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for (method, strategy), seeds in report.selected.diverged.items():
        strategies.setdefault((method, seeds), []).append(str(strategy))
    for (method, seeds), names in strategies.items():
        several = report.completeness.divergence[method].of_configurations > 1
        who = f"All configurations of {method}" if several else method
        every = len(names) == len(report.selected.strategies)
        under = "" if every else f" under {some(names)}"
        shown = f"seed{'s' if seeds[1:] else ''} {', '.join(map(str, seeds))}"
        if len(seeds) == report.completeness.seeds[method][1]:
            yield f"{who} diverged in every seed{under}: there is no result."
            continue
        yield (
            f"{who} diverged in {shown}{under}: what is reported is of the other seeds, which "
            "flatters it."
        )


def _copies(report: RunContent) -> Iterable[str]:
    """Name the seeds that are equal to an earlier one: training does not read them, or copies."""
    strategies: dict[tuple[str, int, tuple[int, ...]], list[str]] = {}
    for cell in report.summaries:
        groups: dict[int, list[int]] = {}
        for seed, first in report.selected.copies(cell.method, cell.strategy).items():
            groups.setdefault(first, []).append(seed)
        for first, seeds in groups.items():
            if not cell.draws_nothing:
                key = cell.method, first, tuple(seeds)
                strategies.setdefault(key, []).append(str(cell.strategy))
    for (method, first, seeds), names in strategies.items():
        of_method = [cell for cell in report.summaries if cell.method == method]
        under = "" if len(names) == len(of_method) else f" under {some(names)}"
        several = len(seeds) > 1
        yield (
            f"Seed{'s' * several} {some(list(map(str, seeds)))} of {method} "
            f"{'are' if several else 'is'} equal to seed {first} on every task{under}: "
            f"{'they count' if several else 'both count'} once."
        )


def _left_out(report: RunContent) -> Iterable[str]:
    for under in report.over_protocols:
        if under.damaged:
            command = on_each(report.info.places, "verify")
            yield (
                f"What was measured under {wording.protocol(under.planned)} is damaged: "
                f"{', '.join(under.damaged)}. {command} names each file."
            )
    strategies = report.selected.strategies
    cells = {(summary.method, summary.strategy) for summary in report.summaries}
    methods_of: dict[str, list[str]] = {}
    for method in report.selected.methods:
        lost = [strategy for strategy in strategies if (method, strategy) not in cells]
        if lost and all((method, strategy) in report.selected.diverged for strategy in lost):
            continue
        if lost and len(lost) == len(strategies):
            yield f"{method} is left out of the table: {_why_left_out(report, method)}."
        elif names := [str(s) for s in lost if not by_missing_loss(report, method, s.snapshot)]:
            methods_of.setdefault(", ".join(names), []).append(method)
    for names, methods in methods_of.items():
        are = "is" if len(methods) == 1 else "are"
        yield f"{some(methods)} {are} left out under {names}."


def _lossless(report: RunContent) -> Iterable[str]:
    """Name methods that no strategy by training loss can have: nothing went wrong."""
    reported = {cell.method for cell in report.summaries}
    names = report.info.snapshot
    if methods := [
        method
        for method in report.selected.methods
        if method in reported and any(by_missing_loss(report, method, name) for name in names)
    ]:
        has = "has" if len(methods) == 1 else "have"
        yield f"{some(methods)} {has} no training loss, and no snapshot that is chosen by it."


def by_missing_loss(report: RunContent, method: str, snapshot: str | None) -> bool:
    """Return whether a snapshot selector chooses by the training loss, and the method has none."""
    return snapshot == TrainLoss.name and method in report.lossless


def _why_left_out(report: RunContent, method: str) -> str:
    """Say why no strategy has a row for a method."""
    problems = [problem for problem in report.left_out if problem.method == method]
    if any(problem.epoch is not None for problem in problems):
        return "chosen snapshots are not measured on the report tasks"
    if any(problem.trial is not None and problem.fold is None for problem in problems):
        return "some of its planned trials are not usable"
    return "no strategy could choose among its trials"


def _intervals(name: str, cells: Sequence[tuple[str, Interval, Interval | None]]) -> Iterable[str]:
    """Repeat the cautions of cells (method, interval over seeds, interval over tasks)."""
    for place, over in ((1, "over seeds"), (2, "over tasks")):
        methods_of: dict[str, list[str]] = {}
        for cell in cells:
            interval = cell[place]
            if isinstance(interval, Interval) and interval.caution:
                methods_of.setdefault(interval.caution, []).append(cell[0])
        for caution, methods in methods_of.items():
            of = "" if len(methods) == len(cells) else f" ({', '.join(dict.fromkeys(methods))})"
            yield f"{name} intervals {over}: {caution}{of}."
