"""The Ray side of a trial: a Tune trainable whose step is one measured snapshot.

What a trial needs is imported when one begins: the driver needs this class but not torch.
"""

from collections.abc import Iterator
from typing import Any

from ray import tune

from fsl_sweep.orchestrator.errors import MachineFailure
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.prepare import check_same_data, open_benchmarks
from fsl_sweep.orchestrator.records.protocol import MAIN
from fsl_sweep.orchestrator.sweep.process import Job


class TrialTrainable(tune.Trainable):
    """Trains or measures one trial after another in one process, each as in a fresh process.

    They share only the opened benchmarks, which are read-only. Tune's checkpoints are not used: a
    trial resumes from the ledger.
    """

    def setup(self, config: dict[str, Any], job: Job | None = None) -> None:
        """Begin the first trial of this actor; ``job`` comes from ``tune.with_parameters``."""
        assert job is not None
        from fsl_sweep.orchestrator.trial.trial import use_threads

        use_threads(job.resources.cpu)
        self._job = job
        self._benchmarks: Any = None
        self._epochs = self._begin(config["trial"])

    def step(self) -> dict[str, Any]:
        """Run up to the next measured epoch, or to the trial's end.

        A failure of the machine is returned, not raised: it ends the sweep, whereas Tune would try
        every trial again.
        """
        try:
            for epoch in self._epochs:
                return {"epoch": epoch, "done": False}
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

    def _begin(self, trial: str) -> Iterator[int]:
        from fsl_sweep.orchestrator.measuring.snapshots import Measuring
        from fsl_sweep.orchestrator.trial.trial import Trial

        job, spec = self._job, self._job.plan.specs[trial]
        benchmarks = self._opened()
        storage = Ledger(job.run, standing=True).trial(trial)
        answers = job.plan.records_answers
        if job.todo is not None:
            named = {one.name: one for one in job.plan.protocols}
            todo = {e: [named[n] for n in names] for e, names in job.todo[trial].items()}
            return Measuring(spec, storage, benchmarks, todo, answers=answers).run()
        main = job.plan.main
        training = Trial(spec, storage, benchmarks[MAIN], main, job.keep, answers)
        return (record.epoch for record in training.run())

    def _opened(self) -> Any:
        """The benchmarks of the job, once for all trials of this actor."""
        if self._benchmarks is None:
            plan, todo = self._job.plan, self._job.todo or {}
            names = {n for epochs in todo.values() for asked in epochs.values() for n in asked}
            opened = open_benchmarks(plan, names)
            check_same_data(plan, opened)
            self._benchmarks = opened
        return self._benchmarks
