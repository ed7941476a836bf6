"""The Ray side of a trial: a Tune trainable whose step is one measured epoch.

What a trial needs is imported when one begins: the driver needs this class but not torch.
"""

from collections.abc import Iterator
from typing import Any

from ray import tune

from fsl_sweep.orchestrator.errors import MachineFailure, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import EpochRecord
from fsl_sweep.orchestrator.sweep.process import Job


class TrialTrainable(tune.Trainable):
    """Runs one trial after another in one process (``reuse_actors``), each as in a fresh process.

    Trials share only the opened benchmark, which is read-only. Tune's checkpoints are not used: a
    trial resumes from the ledger.
    """

    def setup(self, config: dict[str, Any], job: Job | None = None) -> None:
        """Begin the first trial of this actor; ``job`` comes from ``tune.with_parameters``."""
        assert job is not None
        from fsl_sweep.orchestrator.trial.trial import use_threads

        use_threads(job.resources.cpu)
        self._job = job
        self._benchmark: Any = None
        self._epochs = self._begin(config["trial"])

    def step(self) -> dict[str, Any]:
        """Run up to the next measured epoch, or to the trial's end.

        A failure of the machine is returned, not raised: it ends the sweep, whereas Tune would try
        every trial again.
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
        """Close the trial that was running."""
        self._epochs = iter(())

    def _begin(self, trial: str) -> Iterator[EpochRecord]:
        import torch

        from fsl_sweep.datasets.preparing.opening import open_benchmark
        from fsl_sweep.orchestrator.trial.trial import Trial

        job, spec = self._job, self._job.specs[trial]
        if self._benchmark is None:
            opened = open_benchmark(spec.benchmark.name, spec.benchmark.options, job.root)
            if opened.fingerprint != job.fingerprint:
                raise RunFolderError(
                    f"The benchmark on this node has the fingerprint {opened.fingerprint}, on the "
                    f"driver {job.fingerprint}: the nodes do not hold the same data."
                )
            self._benchmark = opened
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        storage = Ledger(job.run, standing=True).trial(trial)
        return Trial(spec, storage, self._benchmark, device).run()
