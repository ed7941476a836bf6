"""What runs on a worker of Ray: one trial after another, each as in a fresh process.

What a trial needs is imported when one begins: the driver needs the class but not torch.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray import tune
from ray.tune.result import RESULT_DUPLICATE

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.catalogue import version_of
from fsl_sweep.orchestrator.errors import FslSweepError, MachineFailure, UserError, in_one_line
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import check_same_data, open_benchmarks
from fsl_sweep.orchestrator.records.measures import MEASURES, SHOWN_AS, EpochRecord
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.upkeep.recording import environment

MACHINE = "machine"
"""The key of a worker's first result under which it reports its node, versions and hardware."""


class TrialError(Exception):
    """What a trial raised, in one line: Tune hands on nothing else but text."""


class OutOfGpuMemory(TrialError):
    """A trial found no memory on its GPU; in a fresh process it may."""


class SetupError(Exception):
    """A worker cannot run any trial of the job, because of its node.

    Args:
        node: Ray's id of the node.
        reason: what is wrong there, as a sentence without its point.
    """

    def __init__(self, node: str, reason: str) -> None:
        super().__init__(node, reason)
        self.node, self.reason = node, reason

    def __str__(self) -> str:
        return self.reason


class Shared(NamedTuple):
    """What all workers of a job are given, and compare with what they find on their node.

    Attributes:
        job: the job; its run folder is absolute.
        versions: of fsl-sweep and torch, where the driver is.
        mark: digest of the run folder's plan, as the driver reads it.
    """

    job: Job
    versions: Mapping[str, str | None]
    mark: str

    @classmethod
    def of(cls, job: Job) -> "Shared":
        """Note what the driver sees."""
        job = job._replace(run=job.run.resolve())
        return cls(job, _versions(), _mark(job.run))


class Reference:
    """A job in Ray's store; Tune copies the configurations that name it, but not this."""

    def __init__(self, shared: Shared) -> None:
        self._ref = ray.put(shared)

    def __deepcopy__(self, _: object) -> "Reference":
        return self

    def get(self) -> Shared:
        """Fetch the job."""
        return ray.get(self._ref)


class TrialTrainable(tune.Trainable):
    """Trains or measures one trial after another in one process, each as in a fresh process.

    They share only the opened benchmarks, which are read-only. Tune's checkpoints are not used: a
    trial resumes from the ledger.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """Take the first trial of this actor; nothing begins before `step`.

        Tune hides why constructors fail.
        """
        self._reference: Reference | None = None
        self._benchmarks: dict[str, Benchmark] | None = None
        self._reported = False
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take another trial in this actor."""
        self.config = {**new_config}
        reference = self.config.pop("job")
        if self._reference is None or reference._ref != self._reference._ref:
            self._reference, self._benchmarks = reference, None
            self._shared = reference.get()
        self._steps: Iterator[EpochRecord | int] | None = None
        return True

    def step(self) -> dict[str, Any]:
        """Run up to the next measured epoch, or to the trial's end.

        A failure of the machine is returned, not raised: it ends the sweep, whereas Tune would try
        every trial again. So is a mistake of the user's, which another attempt would not mend.
        """
        try:
            for record in self._begun():
                return {**self._first(), **_metrics(record), "done": False}
            self._check_memory()
        except MachineFailure as failure:
            return {"epoch": 0, "done": True, "machine_failure": str(failure)}
        except UserError as failure:
            return {"epoch": 0, "done": True, "failure": str(failure)}
        except (SetupError, OutOfGpuMemory):
            raise
        except Exception as failure:  # a plug-in may raise anything
            raise TrialError(in_one_line(failure)) from failure
        return {RESULT_DUPLICATE: True, "done": True}

    def _begun(self) -> Iterator[EpochRecord | int]:
        if self._benchmarks is None:
            try:
                self._benchmarks = _set_up(self._shared)
            except (FslSweepError, OSError) as failure:
                node = ray.get_runtime_context().get_node_id()
                raise SetupError(node, str(failure).rstrip(".")) from failure
        if self._steps is None:
            job, trial = self._shared.job, self.config["trial"]
            _use_resources(job, trial)
            self._steps = iter(job.steps(trial, self._benchmarks))
        return self._steps

    def _first(self) -> dict[str, Any]:
        """Report this worker's machine, once."""
        if self._reported:
            return {}
        self._reported = True
        return {MACHINE: {"node": ray.get_runtime_context().get_node_id(), **environment()}}

    def _check_memory(self) -> None:
        """Raise OutOfGpuMemory if that is how the trial ended."""
        job, trial = self._shared.job, self.config["trial"]
        if job.todo is None and job.on_gpu(trial):
            end = Ledger(job.run, standing=True).trial(trial).read_end()
            if end is not None and end.retriable and end.reason.startswith("out of memory"):
                raise OutOfGpuMemory(end.reason)


def _set_up(shared: Shared) -> dict[str, Benchmark]:
    """Check that a node can run a job, and open its data. Raises FslSweepError or OSError."""
    here, job = _versions(), shared.job
    for package, wanted in shared.versions.items():
        if here[package] != wanted:
            raise UserError(
                f"this node has {package} {here[package]}, and the driver has {wanted}; install "
                "the same versions on all nodes"
            )
    if _mark(job.run) != shared.mark:
        raise UserError(
            f"the run folder {job.run} is not the driver's: put it on a path that all nodes share"
        )
    from fsl_sweep.orchestrator.trial.allocator import keep_freed_memory

    keep_freed_memory()
    opened = open_benchmarks(job.plan, job.protocols)
    check_same_data(job.plan, opened)
    return opened


def _use_resources(job: Job, trial: str) -> None:
    """Give torch the threads and the share of a GPU that a trial has reserved."""
    from fsl_sweep.orchestrator.trial.trial import use_threads

    resources = job.plan.resources_of(trial)
    use_threads(resources.cpu)
    if job.on_gpu(trial) and resources.gpu != "auto" and 0 < resources.gpu < 1:
        import torch

        torch.cuda.set_per_process_memory_fraction(resources.gpu)


def _metrics(record: EpochRecord | int) -> dict[str, Any]:
    """Return what Tune is told: mean accuracies are those on the selection tasks, in [0, 1]."""
    if isinstance(record, int):
        return {"epoch": record}
    means = {SHOWN_AS[m]: record.scores[m, "selection"].mean for m in MEASURES}
    return {
        "epoch": record.epoch,
        **means,
        "train_loss": record.train_loss,
        "learning_rate": record.learning_rate,
    }


def _versions() -> dict[str, str | None]:
    return {name: version_of(name) for name in ("fsl-sweep", "torch")}


def _mark(run: Path) -> str:
    """Return the digest of a run folder's plan; empty where there is none. Raises OSError."""
    os.stat(run)
    with suppress(FileNotFoundError):
        return hashlib.sha256((run / "plan.json").read_bytes()).hexdigest()
    return ""
