"""The events of a running sweep, for a progress display or the TensorBoard view."""

from typing import Protocol

from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd


class SweepListener(Protocol):
    """Hears of each trial as it runs. Calls come from one thread, in order."""

    def started(self, trial: str) -> None:
        """Hear that a trial began, or began again after a failure."""

    def measured(self, trial: str, record: EpochRecord) -> None:
        """Hear that an epoch of a trial was measured and recorded."""

    def measured_again(self, trial: str, epoch: int) -> None:
        """Hear that a recorded snapshot of a trial was measured under further protocols."""

    def failed_once(self, trial: str, reason: str) -> None:
        """Hear that a trial failed and will be tried again from its last recorded epoch."""

    def ended(self, trial: str, end: TrialEnd) -> None:
        """Hear that a trial ended for good."""

    def remark(self, text: str) -> None:
        """Hear of what concerns more than one trial, such as a node that is left out."""
