"""The jobs of a sweep as one Tune experiment: trials on workers, their events in the driver."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.experiment import Trial

from fsl_sweep.orchestrator.errors import ConfigError, FslSweepError, MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import PlannedTrial
from fsl_sweep.orchestrator.records.spec import Resources
from fsl_sweep.orchestrator.sweep.controller import Controller, SweepTrial
from fsl_sweep.orchestrator.sweep.failing import Nodes, reason_of
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.sweep.stalling import Stalls
from fsl_sweep.orchestrator.sweep.users import named
from fsl_sweep.orchestrator.sweep.worker import MACHINE, Reference, SetupError, Shared

Event = Callable[..., None]


class Experiment:
    """Does one job after another on the Ray that is running.

    Args:
        event: called with the name of a ``SweepListener`` method, and its arguments.
        scratch: a folder for Tune's own files, which are not used.
        callbacks: Tune callbacks of the user's.
    """

    def __init__(
        self, event: Event, scratch: Path, callbacks: Sequence[tune.Callback] = ()
    ) -> None:
        self._reporter = TuneReporter(event)
        users = [named(callback, self._reporter.fail) for callback in callbacks]
        self._controller = Controller(
            [self._reporter, *users], self._reporter.set_up_failed, scratch
        )
        self._controller._callbacks.setup(storage=self._controller.storage)

    def run(self, job: Job) -> None:
        """Do a job, until each of its trials has ended.

        Raises:
            ConfigError: a trial asks for more than the cluster has.
            MachineFailure: a worker's disk is full, no node can run a trial, or a machine fails in
                another way.
            PluginError: a callback of the user's raised an error.
        """
        reporter, queue = self._reporter, self._controller.queue
        reporter.begin(job)
        places: dict[Resources, tune.PlacementGroupFactory] = {}
        for trial in job.trials:
            wanted = job.plan.resources_of(trial)
            if wanted not in places:
                places[wanted] = _place(wanted)
                reporter.check_node_for(places[wanted])
            queue.add(trial, places[wanted])
        queue.make = self._maker(job)
        while reporter.left:
            self._step()

    def _maker(self, job: Job) -> Callable[[str, tune.PlacementGroupFactory], SweepTrial]:
        """Return what makes a trial for Tune, once it can wait for a place: not all at once."""
        reference, storage = Reference(Shared.of(job)), self._controller.storage
        planned = {trial.id: trial for trial in reversed(job.plan.trials)}

        def make(name: str, place: tune.PlacementGroupFactory) -> SweepTrial:
            shown = _shown(planned[name])
            return SweepTrial(name, {**shown, "job": reference}, place, job.retries, storage)

        return make

    def _step(self) -> None:
        try:
            self._controller.step()
        except Exception:  # Tune wraps what a callback raises
            if self._reporter.failure is not None:
                raise self._reporter.failure from None
            raise
        if not self._controller._actor_manager.num_live_actors:
            time.sleep(0.01)
        self._reporter.stalls.check(self._controller.get_trials())

    def end(self) -> None:
        """Tell the callbacks that no other job follows."""
        self._controller.end_experiment_callbacks()


def _shown(trial: PlannedTrial) -> dict[str, Any]:
    """Return what tells a trial from others, as Tune's configuration."""
    replicate = {"trial": trial.id, "method": trial.method, "seed": trial.spec.seed}
    fold = {} if trial.fold is None else {"fold": trial.fold}
    return {**trial.hyperparameters, **fold, **replicate}


def _place(resources: Resources) -> tune.PlacementGroupFactory:
    """Return what a trial asks Ray for. Raises ConfigError if the whole cluster has less."""
    cluster = ray.cluster_resources()
    gpus = cluster.get("GPU", 0.0)
    wanted = {"CPU": float(resources.cpu)}
    gpu = (1.0 if gpus else 0.0) if resources.gpu == "auto" else resources.gpu
    if gpu:
        wanted["GPU"] = gpu
    for kind, amount in wanted.items():
        if amount > cluster.get(kind, 0.0):
            raise ConfigError(
                "resources",
                kind.lower(),
                f"a trial asks for {amount:g} {kind}, but the cluster has "
                f"{cluster.get(kind, 0.0):g} in all",
            )
    return tune.PlacementGroupFactory([wanted])


class TuneReporter(tune.Callback):
    """Passes events on, and records the trials whose training failed for good.

    Attributes:
        left: the trials of the job that have not ended.
        failure: what ends the job; Tune raises an error of its own instead.
        stalls: looks for trials that hang.
    """

    def __init__(self, event: Event) -> None:
        self._event, self._nodes = event, Nodes()
        self.failure: FslSweepError | None = None

    def begin(self, job: Job) -> None:
        """Report on this job from now on."""
        self._ledger, self.left = Ledger(job.run), {*job.trials}
        self._main, self._measures = job.plan.main.id, job.todo is not None
        methods = {trial.id: trial.method for trial in job.plan.trials}
        self.stalls = Stalls(job.stall, methods)

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Tune writes its callbacks to a file, which is not used

    def check_node_for(self, place: Any) -> None:
        """Raise MachineFailure if no node is left for a trial with such a place."""
        try:
            self._nodes.check(place.required_resources)
        except MachineFailure as failure:
            self.fail(failure)

    def fail(self, failure: FslSweepError) -> None:
        """End the job. Raises the failure."""
        self.failure = failure
        raise failure

    def set_up_failed(self, trial: Trial, failure: SetupError) -> bool:
        """Count a node's failures to set up a worker, and leave it out after two in a row.

        Returns:
            Whether the node is left out.

        Raises:
            MachineFailure: no node is left.
        """
        if remark := self._nodes.failed(failure):
            self._event("remark", remark)
        if self._nodes.is_left_out(failure.node):
            self.check_node_for(trial.placement_group_factory)
        return self._nodes.is_left_out(failure.node)

    def on_trial_start(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Pass on that a trial began, or began again."""
        self.stalls.heard(trial.trial_id, counts=False)
        self._event("started", trial.trial_id)

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Pass on an epoch; its numbers are read from the ledger, not sent through Ray.

        Raises:
            MachineFailure: the worker's machine failed, so the sweep cannot continue.
        """
        if "machine_failure" in result:
            self.fail(MachineFailure(result["machine_failure"]))
        if machine := result.pop(MACHINE, None):
            node = machine.pop("node")
            self._nodes.works(node)
            if node != ray.get_runtime_context().get_node_id():  # the command's own is noted
                self._event("machine", machine)
        if result["epoch"] < 1:
            return
        name = trial.trial_id
        self.stalls.heard(name)
        if self._measures:
            self._event("measured_again", name, result["epoch"])
        else:
            record = self._ledger.trial(name).read_epoch(result["epoch"], self._main)
            self._event("measured", name, record)

    def on_trial_complete(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Pass on an end as its record says, unless it failed by a mistake of the user's."""
        name, end = trial.trial_id, TrialEnd("done")
        if (reason := trial.last_result.get("failure")) is not None:
            self._failed(name, reason)
            return
        if not self._measures:
            lost = TrialEnd("failed", "its end was not recorded", retriable=True)
            end = self._ledger.trial(name).read_end() or lost
        self._ended(name, end)

    def on_trial_recover(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Pass on that a trial failed and has attempts left."""
        self._event("failed_once", trial.trial_id, self._reason(trial))

    def on_trial_error(
        self, iteration: int, trials: list[Trial], trial: Trial, **info: Any
    ) -> None:
        """Pass on that a trial failed and has no attempt left."""
        self._failed(trial.trial_id, self._reason(trial))

    def _reason(self, trial: Any) -> str:
        return reason_of(trial.error, self.stalls.reason(trial.trial_id))

    def _failed(self, trial: str, reason: str) -> None:
        """Record that a trial failed for good, unless it had ended already."""
        end = TrialEnd("failed", reason, retriable=True)
        if not self._measures:
            storage = self._ledger.trial(trial)
            if (before := storage.read_end()) is None:
                storage.end(end, self._main)
            end = before or end
        self._ended(trial, end)

    def _ended(self, trial: str, end: TrialEnd) -> None:
        self.stalls.forget(trial)
        self.left.discard(trial)
        self._event("ended", trial, end)
