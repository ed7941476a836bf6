"""The rounds of a search in a run folder: whether the next one is due, and what it proposes."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import Damaged
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.proposals import read_proposals, write_proposals
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.search import Outcome, Proposals
from fsl_sweep.orchestrator.selection.stopping.curves import best_score
from fsl_sweep.orchestrator.text.printed import counted


def next_round(
    prepared: Prepared,
    plan: Plan,
    benchmarks: Mapping[str, Benchmark],
    notify: Callable[[str], None] = lambda _: None,
) -> Plan | None:
    """Ask for the next round of each method whose last one has ended; record it, and plan it.

    It depends on the sweep and the records only. A round of which a trial failed, or is not
    measured, holds up its method; so does ``--only``.

    Args:
        prepared: the sweep.
        plan: as recorded in its run folder, whose lock is held.
        benchmarks: of the plan.
        notify: called with what holds up a method.

    Returns:
        The plan with the new configurations, as recorded; None where nothing more is due.

    Raises:
        UserError: the searcher cannot propose.
    """
    if plan.search is None:
        return None
    from fsl_sweep.orchestrator.planning.plan_sweep import searches  # here, because of torch

    ledger, more = prepared.ledger, False
    chosen = [name for name in plan.searched if not prepared.only or name in prepared.only]
    methods = searches(prepared.sweep)
    _record_first(ledger, [methods[name].first(s) for name, s in plan.searched.items()])
    histories = ledger.histories(plan) if any(plan.searched[n].rest for n in chosen) else []
    for name in chosen:
        searched = plan.searched[name]
        trials = [history for history in histories if history.method == name]
        if not searched.rest:
            continue
        if held_up := sum(not _ended(trial) for trial in trials):
            notify(
                f"{name}: {counted(held_up, 'trial')} failed, or must still be measured, so that "
                "no further configurations are proposed; `--retry failed` trains them again."
            )
            continue
        write_proposals(ledger, methods[name].next(searched, outcomes(plan, name, trials)))
        more = True
    if not more:
        return None
    return ledger.write_plan(replace(prepared).on(benchmarks), prepared.sweep.text)


def outcomes(plan: Plan, method: str, histories: Iterable[TrialHistory]) -> list[Outcome]:
    """Return what a searcher is told of a method's configurations, in the order of proposals."""
    assert plan.search is not None, "the sweep searches"
    trials: dict[str, list[TrialHistory]] = {
        trial.configuration: [] for trial in plan.trials if trial.method == method
    }
    for history in histories:
        trials[history.configuration].append(history)
    scores = (best_score(each, plan.search.metric) for each in trials.values())
    return [
        Outcome(values, score)
        for values, score in zip(plan.searched[method].planned, scores, strict=True)
    ]


def _ended(trial: TrialHistory) -> bool:
    """Tell whether what becomes of a trial is known, and measured."""
    ended = trial.end is not None and trial.end.status != "failed"
    return ended and not trial.damaged and not trial.unmeasured


def _record_first(ledger: Ledger, first: Iterable[Proposals]) -> None:
    """Record the first rounds, which are planned before there is a run folder to record them in."""
    for proposals in first:
        there = None
        with suppress(Damaged):
            there = read_proposals(ledger, proposals.method, 1)
        if there is None or there.proposed != proposals.proposed:
            write_proposals(ledger, proposals)
