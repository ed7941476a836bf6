"""The Ray side of a trial: a Tune trainable whose step is one measured epoch.

What a trial needs is imported when one begins: the driver needs this class, and not torch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray import tune

from fsl_sweep.orchestrator.config import TrialSpec
from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.records import EpochRecord


@dataclass(frozen=True)
class WorkerContext:
    """What every worker of a sweep needs to know.

    Attributes:
        run: the run folder, on a path that all nodes share.
        specs: the trials by id.
        root: where the benchmark's files are, or None to use a prepared copy.
        fingerprint: the benchmark content that the driver saw; another is refused.
        threads: torch's threads for a trial.
    """

    run: str
    specs: Mapping[str, TrialSpec]
    root: str | None
    fingerprint: str
    threads: int


class TrialTrainable(tune.Trainable):
    """Runs one trial after another in one process (``reuse_actors``), bit for bit as a fresh one.

    Nothing is handed from trial to trial but the opened benchmark, which is read-only. Tune's
    checkpoints are not used: a trial resumes from the ledger.
    """

    def setup(self, config: dict[str, Any], context: WorkerContext | None = None) -> None:
        """Begin the first trial of this actor."""
        if context is None:
            raise TypeError("wrap this class in tune.with_parameters(..., context=...)")
        from fsl_sweep.orchestrator.trial import use_threads

        use_threads(context.threads)
        self._context = context
        self._benchmark: Any = None
        self._epochs = self._begin(config["trial"])

    def step(self) -> dict[str, Any]:
        """Run up to the next measured epoch, or to the trial's end.

        A failure of the machine is an answer, not an exception: it ends the sweep, whereas Tune
        would try every trial again.
        """
        try:
            for record in self._epochs:
                return {"epoch": record.epoch, "done": False}
        except MachineFailure as failure:
            return {"epoch": 0, "done": True, "machine_failure": str(failure)}
        return {"epoch": 0, "done": True}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Begin another trial in this actor."""
        self._epochs = self._begin(new_config["trial"])
        return True

    def cleanup(self) -> None:
        """Let go of the trial that was running."""
        self._epochs = iter(())

    def _begin(self, trial: str) -> Iterator[EpochRecord]:
        import torch

        from fsl_sweep.datasets.opening import open_benchmark
        from fsl_sweep.orchestrator.trial import Trial

        context, spec = self._context, self._context.specs[trial]
        if self._benchmark is None:
            root = Path(context.root) if context.root else None
            opened = open_benchmark(spec.benchmark.name, spec.benchmark.options, root)
            if opened.fingerprint != context.fingerprint:
                raise RunFolderError(
                    f"The benchmark on this node has the fingerprint {opened.fingerprint}, on the "
                    f"driver {context.fingerprint}: the nodes do not hold the same data."
                )
            self._benchmark = opened
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        storage = Ledger(Path(context.run), standing=True).trial(trial)
        return Trial(spec, storage, self._benchmark, device).run()
