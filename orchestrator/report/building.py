"""From a run's records to the content of its report."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.report.completeness import completeness_of, whole_replicates
from fsl_sweep.orchestrator.report.content import Cost, RunInfo
from fsl_sweep.orchestrator.report.curves import curves_of
from fsl_sweep.orchestrator.report.over_protocols import Reader, UnderProtocol, over_protocols
from fsl_sweep.orchestrator.report.report import Report
from fsl_sweep.orchestrator.report.tradeoff import tradeoffs_of
from fsl_sweep.orchestrator.selection.budget_curve import BudgetPoint, regret_by_budget
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.comparing.comparison import rank_methods
from fsl_sweep.orchestrator.selection.comparing.needs import Needs, plan_next
from fsl_sweep.orchestrator.selection.comparing.overtuning import overtuning_of
from fsl_sweep.orchestrator.selection.comparing.stability import stability_of
from fsl_sweep.orchestrator.selection.comparing.strategies import compare_strategies
from fsl_sweep.orchestrator.selection.ensembles import Answers, ensembles_of
from fsl_sweep.orchestrator.selection.lead import lead_strategy, narrowed
from fsl_sweep.orchestrator.selection.methods import Summary, rank_correlations, summarise
from fsl_sweep.orchestrator.selection.resample import (
    QUICKLY_RESAMPLED,
    ClassLists,
    ResampledCell,
    resample,
    resamples_for,
)
from fsl_sweep.orchestrator.selection.results import Strategy, identical
from fsl_sweep.orchestrator.selection.select import LeftOut, Selected, select, why_unusable
from fsl_sweep.orchestrator.selectors import (
    HYPERPARAMETER_SELECTORS,
    SNAPSHOT_SELECTORS,
    hyperparameter_selector,
)
from fsl_sweep.orchestrator.selectors.budgeted_oracle import allocations_of
from fsl_sweep.orchestrator.selectors.mixture import base_weight
from fsl_sweep.orchestrator.selectors.names import parse


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
) -> Report:
    """The report of a run.

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

    Raises:
        UnknownName, PluginError, ConfigError: a selector is not known or cannot be loaded.
        SealedMeasurement: a selector read what it did not declare.
        ValueError: there are too few resamples, or class tuples cannot be resampled.
    """
    whole = whole_replicates(histories)
    chosen = Chosen(whole)
    selected = select(chosen, info.snapshot, info.hyperparameter, base_weight(info.metric))
    # Methods without a whole seed too: a report says that they are missing.
    selected = replace(selected, methods=tuple(dict.fromkeys(one.method for one in histories)))
    summaries, lead = summarise(selected), lead_strategy(selected)
    shown, total = curves_of(chosen, info.snapshot, curves)
    resampled = _resampled(info, whole, selected, lead, bootstrap, classes)
    return Report(
        info=info,
        completeness=completeness_of(histories, len(selected.unmeasured) if info.protocol else 0),
        lead=lead,
        selected=selected,
        summaries=summaries,
        rankings=rank_methods(summaries),
        needs=_needs(info, whole, selected, lead, resampled),
        ranked=partial(rank_correlations, whole, last),
        curves=shown,
        curves_total=total,
        cost=_cost(histories),
        selectors=_provenance(info),
        over_methods=compare_strategies(whole, selected, summaries),
        overtuning=overtuning_of(chosen, selected),
        seedless=_methods(histories, lambda trial: trial.seedless) - _differing(summaries),
        lossless=_methods(whole, _without_loss),
        torn=_torn(histories),
        resampled=resampled,
        stability=stability_of(summaries, resampled),
        budget_curve=_budget_curve(info, whole, selected),
        traded=partial(tradeoffs_of, chosen, info.snapshot),
        over_protocols=_over_protocols(info, selected, summaries, measured),
        partly=None if _all_measured(whole) else info.protocol,
        ensembles=ensembles_of(whole, ensembles, answers) if answers else (),
        rope=rope,
    )


def _methods(
    histories: Sequence[TrialHistory], test: Callable[[TrialHistory], bool]
) -> frozenset[str]:
    """The methods of which every trial passes the test."""
    every = {trial.method for trial in histories}
    return frozenset(every - {trial.method for trial in histories if not test(trial)})


def _differing(summaries: Sequence[Summary]) -> set[str]:
    """The methods of which some strategy has several seeds with different scores."""
    several = (one for one in summaries if len(one.choices) > 1)
    return {one.method for one in several if not identical(one.choices)}


def _without_loss(trial: TrialHistory) -> bool:
    return not np.isfinite(trial.curves.get("train_loss", [])).any()


def _torn(histories: Sequence[TrialHistory]) -> tuple[LeftOut, ...]:
    return tuple(
        LeftOut(one.method, one.seed, reason, one.trial, one.hyperparameters)
        for one in histories
        if one.fold is None and (reason := why_unusable(one)) is not None
    )


def _resampled(
    info: RunInfo,
    histories: Sequence[TrialHistory],
    selected: Selected,
    lead: Strategy | None,
    asked: int | None,
    classes: ClassLists | None,
) -> tuple[ResampledCell, ...]:
    """Every cell; of a large run, unless it was asked for, only those of the leading strategy."""
    if asked == 0 or lead is None:
        return ()
    snapshots = sum(len(trial.epochs) for trial in histories)
    large = asked is None and snapshots > QUICKLY_RESAMPLED
    wanted = narrowed(selected, lead) if large else selected
    count = asked or resamples_for(snapshots)
    return resample(histories, wanted, resamples=count, classes=classes, apart=info.apart)


def _needs(
    info: RunInfo,
    histories: Sequence[TrialHistory],
    selected: Selected,
    lead: Strategy | None,
    resampled: tuple[ResampledCell, ...],
) -> tuple[Needs, ...]:
    if lead is None or not resampled:
        return ()
    own = narrowed(selected, lead)
    found = plan_next(histories, own, resampled=resampled, timed=info.timed)
    again = {cell.method for cell in resampled if cell.strategy == lead}
    return tuple(one for one in found if min(one.now.seeds) > 1 and {one.a, one.b} <= again)


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


def _budget_curve(
    info: RunInfo, histories: Sequence[TrialHistory], selected: Selected
) -> tuple[BudgetPoint, ...]:
    """The curve of each allocation that a strategy uses."""
    used = allocations_of(map(hyperparameter_selector, info.hyperparameter))
    return regret_by_budget(histories, selected, info.snapshot, used) if used else ()


def _cost(histories: Sequence[TrialHistory]) -> Cost | None:
    both = ("train_seconds", "evaluation_seconds")
    recorded = [t for t in {t.trial: t for t in histories}.values() if len(t.epochs)]
    timed = [t for t in recorded if all(name in t.curves for name in both)]
    if not timed:
        return None
    train, evaluation = (sum(float(t.curves[name].sum()) for t in timed) for name in both)
    return Cost(train, evaluation, len(timed) == len(recorded))


def _provenance(info: RunInfo) -> dict[str, list[dict[str, str]]]:
    return {
        kind: [catalogue.provenance(parse(name)[0]) | {"name": name} for name in names]
        for kind, catalogue, names in (
            ("snapshot", SNAPSHOT_SELECTORS, info.snapshot),
            ("hyperparameter", HYPERPARAMETER_SELECTORS, info.hyperparameter),
        )
    }
