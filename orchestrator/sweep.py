"""Running trials on Ray: local or on a cluster, resuming from the ledger alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fsl_sweep.orchestrator.config import TrialSpec
from fsl_sweep.orchestrator.events import SweepListener
from fsl_sweep.orchestrator.grammar import Resources
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.sweep_process import Job, RayProcess


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
    """Start Ray, or join a cluster, and run trials to their end; see ``Job`` and ``RayProcess``."""
    ledger.path.mkdir(parents=True, exist_ok=True)
    job = Job(ledger.path, specs, fingerprint, root, resources, retries)
    with RayProcess(address, len(specs)) as ray:
        ray.run(job, listeners)
