"""Measuring the recorded snapshots of a trial under protocols, without training."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.snapshot import restored
from fsl_sweep.orchestrator.errors import TrialFailure
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks, trained_benchmark
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.records.spec import TrialSpec


@dataclass(frozen=True)
class Measuring:
    """The snapshots of one trial, to be measured under protocols that training did not measure.

    Attributes:
        spec: how the trial was trained.
        storage: its folder.
        benchmarks: the trained one under ``main``, and those of protocols under their names.
        todo: for each epoch the protocols that are missing.
        device: a GPU if there is one, unless it says otherwise.
        answers: whether the answer to each query is recorded.
    """

    spec: TrialSpec
    storage: TrialLedger
    benchmarks: Mapping[str, Benchmark]
    todo: Mapping[int, Sequence[PlannedProtocol]]
    device: torch.device | None = None
    answers: bool = False

    def run(self) -> Iterator[int]:
        """Measure snapshot by snapshot, yielding each epoch once it is recorded.

        An image is embedded once for a snapshot, whatever the number of protocols. An interrupted
        one continues with what is not recorded.

        Raises:
            RunFolderError: a snapshot is missing, or is not the one that was recorded.
            TrialFailure: the learner's answers are not numbers.
        """
        benchmark = trained_benchmark(self.spec, self.benchmarks[MAIN])
        planned = {p.name: p for protocols in self.todo.values() for p in protocols}
        tasks = {
            name: CommonTasks.draw(benchmark, protocol.protocol, self.benchmarks.get(name))
            for name, protocol in planned.items()
        }
        device = self.device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
        evaluator = Evaluator(benchmark, tasks, device)
        missing = {
            name: {*self.storage.to_measure(protocol.id, answers=self.answers)}
            for name, protocol in planned.items()
        }
        for epoch, listed in sorted(self.todo.items()):
            protocols = [protocol for protocol in listed if epoch in missing[protocol.name]]
            path = self.storage.check_snapshot(epoch)
            learner, _ = restored(path.read_bytes(), str(path))
            learner.to(device)
            try:
                scores = evaluator.measure(learner, [protocol.name for protocol in protocols])
            except TrialFailure as failure:
                raise TrialFailure(f"epoch {epoch} could not be measured: {failure}") from failure
            for protocol in protocols:
                measured = scores[protocol.name]
                self.storage.write_measured(epoch, protocol.id, measured, self.answers)
            yield epoch
        for protocol in planned.values():
            self.storage.compact(protocol.id)
