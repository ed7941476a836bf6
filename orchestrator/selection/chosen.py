"""The snapshots that the strategies of a sweep file choose."""

from collections.abc import Sequence

from fsl_sweep.orchestrator.records.measures import TrialHistory
from fsl_sweep.orchestrator.records.spec import Selectors
from fsl_sweep.orchestrator.selection.select import ORACLE, select


def chosen_snapshots(
    histories: Sequence[TrialHistory], selectors: Selectors
) -> set[tuple[str, int]]:
    """Trial and epoch of every snapshot that a table of these strategies reports.

    That is what each strategy chose for each method and seed, and the reference that regret is
    measured against. Replicates that are not whole choose nothing.
    """
    snapshot = dict.fromkeys([*selectors.snapshot, ORACLE])
    hyperparameter = dict.fromkeys([*selectors.hyperparameter, ORACLE])
    selected = select(histories, [*snapshot], [*hyperparameter])
    return {(one.trial, one.epoch) for one in selected.selections}
