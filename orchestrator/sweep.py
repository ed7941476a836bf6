"""Running a plan on Ray: local or on a cluster, resuming from the ledger alone."""

import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

# Tune's own result files, restoration state and nagging are not wanted: the ledger is the record.
# These have to stand in the environment before ray.tune is imported.
for _name, _value in {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_SYNCER": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "100000",
    "TUNE_MAX_PENDING_TRIALS_PG": "64",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}.items():
    os.environ.setdefault(_name, _value)

import ray  # noqa: E402  (after the environment, see above)
from ray import tune  # noqa: E402
from ray.tune.experiment import Trial as TuneTrial  # noqa: E402

from fsl_sweep.orchestrator.config import Resources, TrialSpec  # noqa: E402
from fsl_sweep.orchestrator.errors import ConfigError  # noqa: E402
from fsl_sweep.orchestrator.events import SweepListener  # noqa: E402
from fsl_sweep.orchestrator.ledger import Ledger  # noqa: E402
from fsl_sweep.orchestrator.sweep_reporter import TuneReporter  # noqa: E402
from fsl_sweep.orchestrator.sweep_worker import TrialTrainable, WorkerContext  # noqa: E402


def run_trials(
    ledger: Ledger,
    specs: Mapping[str, TrialSpec],
    fingerprint: str,
    root: Path | None,
    resources: Resources,
    retries: int,
    listeners: Sequence[SweepListener],
    address: str | None = None,
) -> None:
    """Run trials to their end, each retried from its last recorded epoch where it fails.

    Args:
        ledger: the run folder, on a path that all nodes share.
        specs: the trials that have not ended, by id.
        fingerprint: of the benchmark that the driver opened.
        root: where the benchmark's files are.
        resources: what each trial reserves.
        retries: attempts after the first.
        listeners: told of every epoch and end.
        address: a cluster to join; None starts Ray on this machine, for loopback alone.

    Raises:
        ConfigError: a trial asks for more than the cluster has.
    """
    if not specs:
        return
    with _ray(address):
        reserved = _reserved(resources, ray.cluster_resources())
        context = WorkerContext(
            run=str(ledger.path.resolve()),
            specs=specs,
            root=str(root.resolve()) if root else None,
            fingerprint=fingerprint,
            threads=resources.cpu,
        )
        trainable = tune.with_parameters(TrialTrainable, context=context)
        with tempfile.TemporaryDirectory(prefix="fsl-sweep-") as scratch:
            tuner = tune.Tuner(
                tune.with_resources(trainable, reserved),
                param_space={"trial": tune.grid_search(list(specs))},
                tune_config=tune.TuneConfig(
                    reuse_actors=True,
                    trial_dirname_creator=_directory,
                    max_concurrent_trials=None,
                ),
                run_config=tune.RunConfig(
                    name="trials",
                    storage_path=scratch,
                    verbose=0,
                    failure_config=tune.FailureConfig(max_failures=retries),
                    callbacks=[TuneReporter(ledger, listeners)],
                    log_to_file=False,
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
def _ray(address: str | None) -> Iterator[None]:
    """Ray for the length of the block: a private one on loopback, or a cluster that is joined."""
    if address and not os.environ.get("RAY_AUTH_MODE") and not _is_local(address):
        warnings.warn(
            f"Joining {address} without token authentication: anyone who reaches that port can "
            "run code there. Set RAY_AUTH_MODE=token on all nodes.",
            stacklevel=3,
        )
    local = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    ray.init(
        address=address or "local",
        logging_level=logging.ERROR,
        log_to_driver=False,
        **({} if address else local),
    )
    try:
        yield
    finally:
        ray.shutdown()


def _is_local(address: str) -> bool:
    host = address.removeprefix("ray://").partition(":")[0]
    return host in ("auto", "local", "127.0.0.1", "localhost", "[", "")
