"""A job as one Tune experiment: its trials on workers, its events in the driver.

What a trial needs is imported when one begins: the driver needs its class but not torch.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.execution import class_cache
from ray.tune.experiment import Trial as TuneTrial

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import ConfigError, MachineFailure, UserError, in_one_line
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import check_same_data, open_benchmarks
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.sweepfile.grammar import Resources


def run(job: Job, event: Callable[..., None], scratch: Path) -> None:
    """Do a job on the Ray that is running, until each of its trials has ended.

    Args:
        job: the trials.
        event: called with the name of a ``SweepListener`` method, and its arguments.
        scratch: a folder for Tune's own files, which are not used.

    Raises:
        ConfigError: a trial asks for more than the cluster has.
        MachineFailure: a worker's disk is full, or its machine fails in another way.
    """
    reserved = _reserved(job.plan.resources, ray.cluster_resources())
    shared = job._replace(run=job.run.resolve())
    # Tune asks for workers with an environment variable for a library that is not used here.
    # Without it, its actors take the workers that Ray has started already.
    class_cache.DEFAULT_ENV_VARS.clear()
    reporter = TuneReporter(job, event)
    trainable = tune.with_parameters(TrialTrainable, job=shared)
    tuner = tune.Tuner(
        tune.with_resources(trainable, reserved),
        param_space={"trial": tune.grid_search([*job.trials])},
        tune_config=tune.TuneConfig(
            reuse_actors=True, trial_dirname_creator=lambda trial: trial.trial_id
        ),
        run_config=tune.RunConfig(
            name="trials",
            storage_path=str(scratch / "tune"),
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=job.retries),
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            callbacks=[reporter],
        ),
    )
    try:
        tuner.fit()
    except Exception:
        if reporter.failure is not None:
            raise reporter.failure from None
        raise


def _reserved(resources: Resources, cluster: Mapping[str, float]) -> dict[str, float]:
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
    return wanted


class TrialError(Exception):
    """What a trial raised, in one line: Tune hands on nothing else but text."""


class TrialTrainable(tune.Trainable):
    """Trains or measures one trial after another in one process, each as in a fresh process.

    They share only the opened benchmarks, which are read-only. Tune's checkpoints are not used: a
    trial resumes from the ledger.
    """

    def setup(self, config: dict[str, Any], job: Job | None = None) -> None:
        """Take the first trial of this actor; ``job`` comes from ``tune.with_parameters``."""
        assert job is not None
        from fsl_sweep.orchestrator.trial.allocator import keep_freed_memory
        from fsl_sweep.orchestrator.trial.trial import use_threads

        keep_freed_memory()
        use_threads(job.plan.resources.cpu)
        self._job = job
        self._epochs = self._begin(config["trial"])

    def step(self) -> dict[str, Any]:
        """Run up to the next measured epoch, or to the trial's end.

        A failure of the machine is returned, not raised: it ends the sweep, whereas Tune would try
        every trial again. So is a mistake of the user's, which another attempt would not mend.
        """
        ended = {"epoch": 0, "done": True}
        try:
            for epoch in self._epochs:
                return {"epoch": epoch, "done": False}
        except MachineFailure as failure:
            return {**ended, "machine_failure": str(failure)}
        except UserError as failure:
            return {**ended, "failure": str(failure)}
        except Exception as failure:  # a plug-in may raise anything
            raise TrialError(in_one_line(failure)) from failure
        return ended

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another trial in this actor."""
        self._epochs = self._begin(new_config["trial"])
        return True

    def _begin(self, trial: str) -> Iterator[int]:
        """Yield its epochs; nothing begins before `step`: Tune hides why constructors fail."""
        yield from self._job.epochs(trial, self._benchmarks)

    @cached_property
    def _benchmarks(self) -> dict[str, Benchmark]:
        """Open the benchmarks of the job, once for all trials of this actor."""
        opened = open_benchmarks(self._job.plan, self._job.protocols)
        check_same_data(self._job.plan, opened)
        return opened


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
        """Pass on that a trial began, or began again."""
        self._event("started", trial.config["trial"])

    def on_trial_result(
        self,
        iteration: int,
        trials: list[TuneTrial],
        trial: TuneTrial,
        result: dict[str, Any],
        **info: Any,
    ) -> None:
        """Pass on an epoch; its numbers are read from the ledger, not sent through Ray.

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
        """Pass on an end as its record says, unless it failed by a mistake of the user's."""
        name, end = trial.config["trial"], TrialEnd("done")
        if (reason := trial.last_result.get("failure")) is not None:
            self._failed(name, reason)
            return
        if not self._measures:
            lost = TrialEnd("failed", "its end was not recorded", retriable=True)
            end = self._ledger.trial(name).read_end() or lost
        self._event("ended", name, end)

    def on_trial_recover(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Pass on that a trial failed and has attempts left."""
        self._event("failed_once", trial.config["trial"], _reason(trial))

    def on_trial_error(
        self, iteration: int, trials: list[TuneTrial], trial: TuneTrial, **info: Any
    ) -> None:
        """Pass on that a trial failed and has no attempt left."""
        self._failed(trial.config["trial"], _reason(trial))

    def _failed(self, trial: str, reason: str) -> None:
        """Record that a trial failed for good, unless it had ended already."""
        end = TrialEnd("failed", reason, retriable=True)
        if not self._measures:
            storage = self._ledger.trial(trial)
            if (before := storage.read_end()) is None:
                storage.end(end, self._main)
            end = before or end
        self._event("ended", trial, end)


def _reason(trial: TuneTrial) -> str:
    """Return what the worker raised, in one line, or what Ray says of its death.

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
    # What a worker raises begins with the call and ends with the error; what Ray says, with that.
    raised = lines[-1].rpartition(f"{TrialError.__name__}: ")[2]
    return raised if "ray::" in lines[0] else lines[0]
