"""What the snapshots of a run take on the disk, said as soon as the first one is there."""

import sys

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import EpochRecord
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.text.printed import on_disk, say


class SnapshotSize(SweepListener):
    """Says it after the first epoch, and again once a method has clearly larger snapshots.

    Methods without a snapshot so far count as if theirs were the largest.
    """

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger, self._plan = ledger, plan
        self._methods = {trial.id: trial.method for trial in plan.trials}
        self._sizes: dict[str, int] = {}

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Look at the first snapshot of each method; `keep` may have removed it already."""
        method, largest = self._methods[trial], max(self._sizes.values(), default=0)
        size = self._ledger.trial(trial).snapshot_size(record.epoch)
        if method not in self._sizes and size:
            self._sizes[method] = size
            if size > 1.1 * largest:
                say(self._sentence(method, size), sys.stderr)

    def _sentence(self, method: str, size: int) -> str:
        counts = {trial: len(spec.recorded_epochs) for trial, spec in self._plan.specs.items()}
        total = sum(n * self._sizes.get(self._methods[t], size) for t, n in counts.items())
        fewer = (
            "" if self._plan.keep == "all" else f", of which `keep: {self._plan.keep}` leaves fewer"
        )
        return (
            f"A snapshot of {method} takes {on_disk(size)} on the disk, and all "
            f"{sum(counts.values()):,} of this run about {on_disk(total)}{fewer}."
        )
