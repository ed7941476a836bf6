"""What is recorded before trials run: the lock, the common tasks, and this machine."""

import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.catalogue import version_of
from fsl_sweep.orchestrator.errors import FslSweepError
from fsl_sweep.orchestrator.ledger.ledger import Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.lock import run_lock
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.trial.environment import packages, processor

_PACKAGES = ("fsl-sweep", "ray", "torch", "torchvision", "numpy", "scipy", "pyarrow", "safetensors")


@contextmanager
def locked(ledger: Ledger, notify: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Hold the run folder's lock; what a killed process left unfinished is removed."""
    with run_lock(ledger.path, notify):
        try:
            ledger.folder.sweep_unfinished()
            yield
        except BaseException:
            with suppress(FslSweepError):  # what is being raised says more
                ledger.folder.sweep_unfinished()
            raise


def write_tasks(
    ledger: Ledger,
    plan: Plan,
    protocols: Iterable[PlannedProtocol],
    benchmarks: Mapping[str, Benchmark],
) -> None:
    """Record the class tuples of the common tasks of these protocols, and the classes' names."""
    from fsl_sweep.datasets.splits.class_folds import fold_benchmark
    from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks

    for protocol in protocols:
        for fold in (None, *(plan.folds if protocol.snapshots == "all" else ())):
            prefix, benchmark = "", benchmarks[MAIN]
            if fold is not None:
                prefix = f"fold-{fold.index}-"
                benchmark = fold_benchmark(benchmark, **fold.model_dump())
            drawn = CommonTasks.draw(benchmark, protocol.protocol, benchmarks.get(protocol.name))
            for (measure, task_set), episodes in drawn.episodes.items():
                content = {
                    "fingerprint": benchmark.fingerprint,
                    "protocol": protocol.protocol.canonical(),
                    "classes": episodes.classes.tolist(),
                    "names": {str(n): name for n, name in drawn.members[measure].items()},
                }
                name = f"{tasks_folder(protocol.id)}/{prefix}{measure}-{task_set}.json"
                if ledger.read_note(name) != content:
                    ledger.folder.write_json(name, content)


def note_environment(ledger: Ledger, machine: Mapping[str, Any] | None = None) -> None:
    """Add a machine, by default this one, to ``environment.json`` unless it is listed there."""
    noted, here = ledger.read_note("environment.json") or {}, machine or environment()
    machines = noted.get("machines", [])
    if here not in machines:
        ledger.folder.write_json("environment.json", {"machines": [*machines, here]})


def environment() -> dict[str, Any]:
    """Return versions, the project's git commit where it runs from a checkout, and the hardware."""
    return {
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in packages(_PACKAGES)},
        "commit": _commit(),
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "gpus": _gpus(),
    }


def _commit() -> str | None:
    command = ["git", "-C", str(Path(__file__).resolve().parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def _gpus() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
