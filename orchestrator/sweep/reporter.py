"""From Tune's events to those of ``SweepListener``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray import tune
from ray.tune.experiment import Trial as TuneTrial

from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.sweep.process import Job


class TuneReporter(tune.Callback):
    """Passes events on, and records the trials whose training failed for good."""

    def __init__(self, job: Job, event: Callable[..., None]) -> None:
        self._ledger, self._event = Ledger(job.run), event
        self._main, self._measures = job.plan.main.id, job.todo is not None
        self.failure: MachineFailure | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune writes its callbacks to a file, which is not used

    def on_trial_start(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """A trial began, or began again."""
        self._event("started", trial.config["trial"])

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """An epoch was measured; its numbers are read from the ledger, not sent through Ray.

        Raises:
            MachineFailure: the worker's machine failed, so the sweep cannot continue. Tune raises
                an error of its own instead; the cause is kept in ``failure``.
        """
        if "machine_failure" in result:
            self.failure = MachineFailure(result["machine_failure"])
            raise self.failure
        if result["epoch"] < 1:
            return
        name = trial.config["trial"]
        if self._measures:
            self._event("measured_again", name, result["epoch"])
        else:
            self._event(
                "measured", name, self._ledger.trial(name).read_epoch(result["epoch"], self._main)
            )

    def on_trial_complete(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """A trial ended; its record says how."""
        if self._measures:
            self._event("ended", trial.config["trial"], TrialEnd("done"))
            return
        end = self._ledger.trial(trial.config["trial"]).read_end()
        lost = TrialEnd("failed", "its end was not recorded", retriable=True)
        self._event("ended", trial.config["trial"], end or lost)

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """A trial failed and has attempts left."""
        self._event("failed_once", trial.config["trial"], _reason(trial))

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """A trial failed and has no attempt left, unless it had ended already."""
        storage = self._ledger.trial(trial.config["trial"])
        end = None if self._measures else storage.read_end()
        if end is None:
            end = TrialEnd("failed", _reason(trial), retriable=True)
            if not self._measures:
                storage.end(end, self._main)
        self._event("ended", trial.config["trial"], end)


def _reason(trial: TuneTrial) -> str:
    """What the worker raised, in one line: the exception and its message.

    Tune has not uploaded the error yet when this is called, so it is read from its staging file.
    """
    try:
        text = Path(trial.error_file or "").read_text(errors="replace")
    except OSError:
        text = ""
    last_failure = text.rpartition("Failure # ")[2].partition("\n")[2]
    lines = [line.strip() for line in last_failure.splitlines() if line.strip()]
    if not lines:
        return "the worker died without a message"
    return lines[0] if lines[0].startswith("The actor") else lines[-1]
