"""Running a plan on Ray: local or on a cluster, resuming from the ledger alone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from fsl_sweep.orchestrator.config import Resources, TrialSpec
from fsl_sweep.orchestrator.events import SweepListener
from fsl_sweep.orchestrator.ledger import Ledger

# Tune's own result files, restoration state and nagging are not wanted: the ledger is the record.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_SYNCER": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "100000",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
# Makes Ray bind every port to 127.0.0.1; it is Ray's default on other systems than Linux.
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


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
    for name, value in (_QUIET if address else {**_QUIET, **_LOOPBACK}).items():
        os.environ.setdefault(name, value)
    # Ray reads its settings from the environment when it is imported.
    from fsl_sweep.orchestrator import sweep_tune, sweep_worker

    context = sweep_worker.WorkerContext(
        run=str(ledger.path.resolve()),
        specs=specs,
        root=str(root.resolve()) if root else None,
        fingerprint=fingerprint,
        threads=resources.cpu,
    )
    with sweep_tune.ray_running(address):
        sweep_tune.run(ledger, context, resources, retries, listeners)
