"""What the snapshots of a run take on the disk, as soon as the first one is there."""

import sys

from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import EpochRecord
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.text.printed import on_disk, say


class SnapshotSize(SweepListener):
    """Says what snapshots take after the first epoch, and again when a method has larger ones.

    A method without any so far counts as if its snapshots were as large as the largest.
    """

    def __init__(self, ledger: Ledger, plan: Plan) -> None:
        self._ledger, self._plan = ledger, plan
        self._methods = {trial.id: trial.method for trial in plan.trials}
        self._sizes: dict[str, int] = {}

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Look at the first snapshot of each method that `keep` has not removed already."""
        method = self._methods[trial]
        if method in self._sizes:
            return
        if size := self._ledger.trial(trial).snapshot_size(record.epoch):
            larger = size > 1.1 * max(self._sizes.values(), default=0)
            self._sizes[method] = size
            if larger:
                say(self._sentence(method, size), sys.stderr)

    def _sentence(self, method: str, size: int) -> str:
        counts = {trial: len(spec.recorded_epochs) for trial, spec in self._plan.specs.items()}
        total = sum(n * self._sizes.get(self._methods[t], size) for t, n in counts.items())
        keep = self._plan.keep
        fewer = "" if keep == "all" else f", of which `keep: {keep}` leaves fewer"
        return (
            f"A snapshot of {method} takes {on_disk(size)} on the disk, and all "
            f"{sum(counts.values()):,} of this run about {on_disk(total)}{fewer}."
        )
