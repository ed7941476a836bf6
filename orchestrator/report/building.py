"""From the records of a run, or of several benchmarks, to the content of their report."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.configurations import curves_of, tradeoffs_of
from fsl_sweep.orchestrator.report.content import RunInfo
from fsl_sweep.orchestrator.report.environments import Environments
from fsl_sweep.orchestrator.report.over_protocols import Reader, UnderProtocol, over_protocols
from fsl_sweep.orchestrator.report.report import BenchmarksReport, Report
from fsl_sweep.orchestrator.selection.budget_curve import BudgetPoint, regret_by_budget
from fsl_sweep.orchestrator.selection.comparing.comparison import rank_methods
from fsl_sweep.orchestrator.selection.comparing.over_benchmarks import (
    BenchmarkEvidence,
    compare_over_benchmarks,
)
from fsl_sweep.orchestrator.selection.comparing.overtuning import overtuning_of
from fsl_sweep.orchestrator.selection.comparing.power import PowerAnalysis, plan_next
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.comparing.strategies import compare_strategies
from fsl_sweep.orchestrator.selection.completeness import complete_replicates, gaps_of
from fsl_sweep.orchestrator.selection.ensembles import Answers, ensembles_of
from fsl_sweep.orchestrator.selection.evidence import USUAL, Evidence
from fsl_sweep.orchestrator.selection.methods import Summary, rank_correlations
from fsl_sweep.orchestrator.selection.question import Question
from fsl_sweep.orchestrator.selection.resample import ClassLists
from fsl_sweep.orchestrator.selection.select import LeftOut, Selected
from fsl_sweep.orchestrator.selectors import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.budgeted_oracle import allocations_of
from fsl_sweep.orchestrator.selectors.names import parse


def check_ensembles(sizes: Sequence[int], histories: Sequence[TrialHistory]) -> None:
    """Raise ConfigError where no method has so many snapshots of a seed."""
    counts: Counter[tuple[str, int]] = Counter()
    for trial in histories:
        counts[trial.method, trial.seed] += len(trial.epochs) if trial.fold is None else 0
    most = max(counts.values(), default=0)
    if 2 in sizes:
        problem = "of two snapshots the better one always decides; let one, or three or more, vote"
        raise ConfigError("", "--ensemble", problem)
    for size in sizes:
        if not 1 <= size <= most:
            problem = f"{size} snapshots cannot vote: a method has 1 to {most} of each seed"
            raise ConfigError("", "--ensemble", problem)


def check_classes(question: Question) -> None:
    """Raise RunFolderError where tasks do not draw their classes alike."""
    for planned in filter(None, (question.protocol, question.chosen_by)):
        if planned.protocol.mixture not in (None, 0, 1):
            raise RunFolderError(
                f"The classes of '{planned.name}' cannot be resampled: a mixture draws base and "
                "novel classes unequally often. Leave out --classes."
            )


def build(
    info: RunInfo,
    histories: Sequence[TrialHistory],
    *,
    last: int | None = None,
    rope: float = 0.0,
    curves: int = 12,
    bootstrap: int | None = None,
    classes: ClassLists | None = None,
    measured: Reader | None = None,
    ensembles: Sequence[int] = (),
    answers: Answers | None = None,
    every_pair: bool = False,
) -> Report:
    """Build the report of a run.

    Args:
        info: the run, with the selectors to compare.
        histories: one for each planned (method, configuration, seed, fold), recorded or not.
        last: add rank correlations over this many last snapshots.
        rope: difference in accuracy up to which two methods count as equivalent.
        curves: at most so many learning curves.
        bootstrap: resamples for intervals that include the selection, which read every task of
            every trial; 0 for none. By default as many as ``resamples_for`` says, and of the
            leading strategy only where the trials have more than 3,000 snapshots together.
        classes: class tuples of the common tasks, to resample classes as well as tasks.
        measured: reads trials under another protocol.
        ensembles: how many of the best snapshots by ValGen vote.
        answers: reads what a snapshot answered; needed for ``ensembles``.
        every_pair: whether formats write every pair of methods, however many there are.

    Raises:
        UnknownName, PluginError, ConfigError: a selector is not known or cannot be loaded.
        SealedMeasurement: a selector read what it did not declare.
        ValueError: there are too few resamples, or class tuples cannot be resampled.
    """
    question = replace(info.question, last=last, rope=rope, resamples=bootstrap)
    evidence = Evidence(
        question, histories, None, classes, scheduler=info.scheduler, proposed=info.proposed
    )
    chosen, selected, summaries = evidence.chosen, evidence.selected, evidence.summaries
    shown, total = curves_of(chosen, question.snapshot, curves)
    return Report(
        info=info,
        completeness=evidence.completeness,
        lead=evidence.lead,
        selected=selected,
        summaries=summaries,
        rankings=rank_methods(summaries),
        needs=_needs(evidence),
        ranked=partial(rank_correlations, evidence.complete, last),
        curves=shown,
        curves_total=total,
        cost=_cost(histories),
        selectors=_provenance(info),
        over_methods=compare_strategies(evidence.complete, selected, summaries),
        overtuning=overtuning_of(chosen, selected),
        lossless=_methods(evidence.complete, _without_loss),
        torn=_torn(histories),
        resampled=evidence.resampled,
        stability=stability_of(summaries, evidence.resampled),
        budget_curve=_budget_curve(evidence),
        traded=partial(tradeoffs_of, chosen, question.snapshot),
        over_protocols=_over_protocols(info, selected, summaries, measured),
        partly=None if _all_measured(evidence.complete) else info.protocol,
        ensembles=ensembles_of(evidence.complete, ensembles, answers) if answers else (),
        rope=rope,
        every_pair=every_pair,
        environments=Environments.of(evidence.histories),
    )


def build_over_benchmarks(
    name: str, reports: Mapping[str, Report], histories: Mapping[str, Sequence[TrialHistory]]
) -> BenchmarksReport:
    """Return the report of several benchmarks.

    Args:
        name: of all of them.
        reports: of each benchmark, by its name.
        histories: what each was built from.

    Raises:
        RunFolderError: two benchmarks hold the same numbers.
    """
    _check_distinct(histories)
    leads = [report.lead for report in reports.values() if report.lead is not None]
    common = [lead for lead in leads if all(r.summaries_of(lead) for r in reports.values())]
    lead = next(iter(sorted(common, key=lambda strategy: str(strategy) != USUAL)), None)
    evidence = {
        benchmark: BenchmarkEvidence(
            complete_replicates(histories[benchmark]),
            report.selected,
            report.summaries,
            report.complete,
        )
        for benchmark, report in reports.items()
    }
    over = None if lead is None else compare_over_benchmarks(evidence, lead)
    return BenchmarksReport(name, reports, lead, over)


def _methods(
    histories: Sequence[TrialHistory], test: Callable[[TrialHistory], bool]
) -> frozenset[str]:
    """Return the methods of which every trial passes the test."""
    every = {trial.method for trial in histories}
    return frozenset(every - {trial.method for trial in histories if not test(trial)})


def _without_loss(trial: TrialHistory) -> bool:
    return not np.isfinite(trial.curves.get("train_loss", [])).any()


def _torn(histories: Sequence[TrialHistory]) -> tuple[LeftOut, ...]:
    return tuple(gaps_of(trial for trial in histories if trial.fold is None))


def _needs(evidence: Evidence) -> tuple[PowerAnalysis, ...]:
    if evidence.lead is None or not evidence.resampled:
        return ()
    analyses = plan_next(
        evidence.complete,
        evidence.led,
        resampled=evidence.resampled,
        timed=evidence.question.timed,
        of_best=True,
    )
    again = {cell.method for cell in evidence.resampled if cell.strategy == evidence.lead}
    return tuple(p for p in analyses if p.now.effect.n > 1 and {p.a, p.b} <= again)


def _all_measured(histories: Sequence[TrialHistory]) -> bool:
    """Whether every snapshot of the full trials, all of whole seeds, has its report scores."""
    full = (trial for trial in histories if trial.fold is None)
    return all(np.isfinite(trial.scores["novel", "report"].means).all() for trial in full)


def _over_protocols(
    info: RunInfo, selected: Selected, summaries: tuple[Summary, ...], read: Reader | None
) -> tuple[UnderProtocol, ...]:
    if read is None or info.protocol is None:
        return ()
    known = UnderProtocol(info.protocol, summaries, len(selected.unmeasured), ())
    more = [] if info.protocol in info.protocols else [info.protocol]
    return over_protocols([*info.protocols, *more], known, selected, read)


def _budget_curve(evidence: Evidence) -> tuple[BudgetPoint, ...]:
    """Return the curve of each allocation that a strategy uses."""
    question = evidence.question
    used = allocations_of(map(hyperparameter_selector, question.hyperparameter))
    if not used:
        return ()
    return regret_by_budget(evidence.complete, evidence.selected, question.snapshot, used)


def _cost(histories: Sequence[TrialHistory]) -> tuple[float, float, bool] | None:
    both = ("train_seconds", "evaluation_seconds")
    recorded = {trial.trial: trial.curves for trial in histories if len(trial.epochs)}.values()
    timed = [curves for curves in recorded if all(name in curves for name in both)]
    train, evaluation = (sum(float(curves[name].sum()) for curves in timed) for name in both)
    return (train, evaluation, len(timed) == len(recorded)) if timed else None


def _provenance(info: RunInfo) -> dict[str, list[dict[str, str]]]:
    return {
        kind: [catalogue.provenance(parse(name)[0]) | {"name": name} for name in names]
        for kind, catalogue, names in (
            ("snapshot", SNAPSHOT_SELECTORS, info.snapshot),
            ("hyperparameter", HYPERPARAMETER_SELECTORS, info.hyperparameter),
        )
    }


def _check_distinct(histories: Mapping[str, Sequence[TrialHistory]]) -> None:
    """Refuse a copy under another name: it would count twice and shorten every interval."""
    seen: dict[object, str] = {}
    for benchmark, trials in histories.items():
        numbers = frozenset(
            (t.method, t.seed, t.fold, *(t.scores[key].means.tobytes() for key in sorted(t.scores)))
            for t in trials
            if len(t.epochs)
        )
        if numbers and (other := seen.setdefault(numbers, benchmark)) != benchmark:
            raise RunFolderError(
                f"The benchmarks '{other}' and '{benchmark}' hold the same numbers, which would "
                "count twice. Leave one of them out."
            )
