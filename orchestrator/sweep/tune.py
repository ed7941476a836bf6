"""The Ray side of a sweep's driver: one Tune experiment over the pending trials."""

from collections.abc import Callable, Mapping
from pathlib import Path

import ray
from ray import tune
from ray.tune.execution import class_cache

from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.sweep.reporter import TuneReporter
from fsl_sweep.orchestrator.sweep.worker import TrialTrainable
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
    reserved = _reserved(job.resources, ray.cluster_resources())
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
