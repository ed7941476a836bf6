"""The Ray side of a sweep's driver: one Tune experiment over the pending trials."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import ray
from ray import tune
from ray.tune.experiment import Trial as TuneTrial

from fsl_sweep.orchestrator.config import Resources
from fsl_sweep.orchestrator.errors import ConfigError
from fsl_sweep.orchestrator.events import SweepListener
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.printed import say
from fsl_sweep.orchestrator.sweep_reporter import TuneReporter
from fsl_sweep.orchestrator.sweep_worker import TrialTrainable, WorkerContext


def run(
    ledger: Ledger,
    context: WorkerContext,
    resources: Resources,
    retries: int,
    listeners: Sequence[SweepListener],
) -> None:
    """Run the context's trials on the Ray that is running, until each has ended.

    Raises:
        ConfigError: a trial asks for more than the cluster has.
    """
    reserved = _reserved(resources, ray.cluster_resources())
    trainable = tune.with_parameters(TrialTrainable, context=context)
    with tempfile.TemporaryDirectory(prefix="fsl-sweep-") as scratch:
        tuner = tune.Tuner(
            tune.with_resources(trainable, reserved),
            param_space={"trial": tune.grid_search(list(context.specs))},
            tune_config=tune.TuneConfig(reuse_actors=True, trial_dirname_creator=_directory),
            run_config=tune.RunConfig(
                name="trials",
                storage_path=scratch,
                verbose=0,
                failure_config=tune.FailureConfig(max_failures=retries),
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                callbacks=[TuneReporter(ledger, listeners)],
            ),
        )
        tuner.fit()


def _directory(trial: TuneTrial) -> str:
    return trial.trial_id


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


@contextmanager
def ray_running(address: str | None) -> Iterator[None]:
    """Ray for the length of the block: a private one on loopback, or a cluster that is joined."""
    if address and not os.environ.get("RAY_AUTH_MODE") and not _is_local(address):
        say(
            f"fsl-sweep: warning: joining {address} without token authentication. Anyone who "
            "reaches that port can run code on the cluster; set RAY_AUTH_MODE=token on all nodes.",
            sys.stderr,
        )
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    ray.init(
        address=address or "local",
        include_dashboard=None if address else False,
        configure_logging=False,
        log_to_driver=False,
    )
    try:
        yield
    finally:
        ray.shutdown()


def _is_local(address: str) -> bool:
    host = address.removeprefix("ray://").partition(":")[0]
    return host in ("auto", "local", "127.0.0.1", "localhost", "[", "")
