"""The snapshots that the strategies of a sweep file choose."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress

from fsl_sweep.orchestrator.errors import SelectionError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import Which
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.selection.choices import Chosen
from fsl_sweep.orchestrator.selection.completeness import why_unusable
from fsl_sweep.orchestrator.selection.select import ORACLE, select
from fsl_sweep.orchestrator.selectors import HyperparameterSelector, hyperparameter_selector
from fsl_sweep.orchestrator.selectors.base import is_cross_validated


def chosen_snapshots(
    histories: Sequence[TrialHistory], selectors: Selectors
) -> set[tuple[str, int]]:
    """Trial and epoch of every snapshot that a table of these strategies reports.

    That is what each strategy chose for each method and seed, the fronts, and the reference that
    regret is measured against. Replicates that are not whole choose nothing.
    """
    snapshot = dict.fromkeys([*selectors.snapshot, ORACLE])
    hyperparameter = dict.fromkeys([*selectors.hyperparameter, ORACLE])
    selected = select(histories, [*snapshot], [*hyperparameter])
    kept = [point for front in selected.fronts for point in front.kept]
    return {(choice.trial, choice.epoch) for choice in (*selected.selections, *kept)}


def wanted(ledger: Ledger, plan: Plan, which: Which) -> dict[str, Collection[int]]:
    """Return the epochs of each trial that is done: all, the last, or those that strategies chose.

    Class folds only serve to choose: those of ``last`` and ``chosen`` are left out. Nobody chooses
    the end of a trial that diverged: ``last`` leaves it out too.
    """
    if which == "chosen":
        chosen: dict[str, set[int]] = defaultdict(set)
        for trial, epoch in chosen_snapshots(ledger.histories(plan), plan.selectors):
            chosen[trial].add(epoch)
        return dict(chosen)
    recorded: dict[str, Collection[int]] = {}
    for planned in plan.trials:
        storage = ledger.trial(planned.id)
        part = storage.planned_part(planned.spec)
        status = part.end and part.end.status
        if storage.unfinished(planned, None) or status in ("failed", "stopped"):
            continue  # no report shows anything of it
        if which == "last" and (planned.fold is not None or status == "diverged"):
            continue
        epochs = [*part.weights]
        recorded[planned.id] = epochs if which == "all" else epochs[-1:]
    return recorded


def choosable_epochs(trial: TrialHistory, selectors: Selectors) -> set[int] | None:
    """Return the epochs of a trial that these strategies may choose, whatever other trials hold.

    None where that depends on class folds, where one chooses among all of them, or where the trial
    takes part in no selection.
    """
    chosen, epochs = Chosen([trial]), set[int]()
    first = map(chosen.selector, selectors.snapshot)
    second = [*map(hyperparameter_selector, selectors.hyperparameter)]
    if why_unusable(trial) or any(map(is_cross_validated, (*first, *second))):
        return None
    if any(isinstance(s, HyperparameterSelector) and s.every_snapshot for s in second):
        return None
    for name in dict.fromkeys([*selectors.snapshot, ORACLE]):
        with suppress(SelectionError):
            epochs.add(chosen.epoch(trial, name))
    return epochs
