"""One trial: train, measure under the main protocol, record, epoch by epoch, without Ray."""

import io
import math
import time
from collections.abc import Iterator
from dataclasses import replace

import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.learners.base import GradientLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.snapshot import VERSION, Description, snapshot_bytes
from fsl_sweep.orchestrator.errors import Diverged, TrialFailure
from fsl_sweep.orchestrator.ledger.trial_ledger import TrialLedger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks, trained_benchmark
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd
from fsl_sweep.orchestrator.records.protocol import MAIN, Kept, PlannedProtocol
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.trial.draws import torch_seed
from fsl_sweep.orchestrator.trial.submission import SubmissionTraining
from fsl_sweep.orchestrator.trial.training import Training, Untrained, learning_rate

AnyTraining = Training | SubmissionTraining | Untrained


class Trial:
    """One training run of one configuration with one seed.

    Args:
        spec: the training.
        storage: where it is recorded.
        benchmark: the data.
        main: the protocol that its snapshots are measured under as it trains.
        keep: the snapshots whose weights are kept while it trains; ``chosen`` keeps all.
        answers: whether the answer to each query is recorded.
        device: a GPU if there is one, unless it says otherwise.

    Raises:
        BadData: the benchmark cannot be divided into the class folds of ``spec``.
    """

    def __init__(
        self,
        spec: TrialSpec,
        storage: TrialLedger,
        benchmark: Benchmark,
        main: PlannedProtocol,
        keep: Kept = "all",
        answers: bool = False,
        device: torch.device | None = None,
    ) -> None:
        self.spec, self.storage = spec, storage
        self.main, self.keep, self.answers = main, keep, answers
        self.benchmark = trained_benchmark(spec, benchmark)
        self._trained = 0
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def run(self, until: int | None = None) -> Iterator[EpochRecord]:
        """Train to the end, yielding each epoch that gives a snapshot once it is recorded.

        Continues after the last recorded epoch. A loss, weight or answer that is not finite, memory
        that runs out and a spent budget end the trial with a reason; what was measured before
        stays.

        Args:
            until: the last epoch to train now, if it is before the end. The trial then has no end:
                it can go on, or `TrialLedger.end` says that it was stopped.
        """
        self.storage.begin(self.spec)
        end, last = TrialEnd("done"), min(until or self.spec.epochs, self.spec.epochs)
        try:
            yield from self._epochs(last)
            if last < self.spec.epochs:
                return
        except _BudgetSpent as spent:
            end = TrialEnd("budget", str(spent))
        except Diverged as failure:
            end = TrialEnd("diverged", str(failure))
        except TrialFailure as failure:
            end = TrialEnd("failed", str(failure))
        except (torch.OutOfMemoryError, MemoryError) as failure:
            reason = str(failure).splitlines()[0] if str(failure) else "no memory left"
            end = TrialEnd("failed", f"out of memory: {reason}", retriable=True)
        end = replace(end, trained=self._trained)
        self.storage.end(end, self.main.id, keep_state=self.keep != "none")

    def _epochs(self, last: int) -> Iterator[EpochRecord]:
        training, self._trained, spent = self._resumed(last)
        tasks = CommonTasks.draw(self.benchmark, self.main.protocol)
        evaluator = Evaluator(self.benchmark, {MAIN: tasks}, self.device)
        measured = set(self.spec.recorded_epochs)
        for epoch in range(self._trained + 1, last + 1):
            started = time.perf_counter()
            loss = self._train(training, epoch, spent)
            trained = time.perf_counter() - started
            spent += trained
            record = None
            if epoch in measured:
                record = self._measure(training, evaluator, epoch, loss, trained)
            self._keep(training, epoch, spent, record)
            self._trained = epoch
            if record is not None:
                yield record

    def _training(self) -> AnyTraining:
        spec = self.spec
        learner = build_learner(
            {"name": spec.learner.name, **spec.learner.options},
            {"name": spec.backbone.name, **spec.backbone.options},
            self.benchmark.image_shape,
            self.benchmark.n_base_classes,
            torch_seed(spec.id, "weights"),
        )
        if isinstance(learner, Metadl):
            return SubmissionTraining(spec, self.benchmark, learner, self.device)
        if not isinstance(learner, GradientLearner):
            raise TypeError(f"A {type(learner).__name__} has no training loss.")
        if spec.train is None:
            return Untrained(learner.to(self.device))
        return Training(spec, self.benchmark, learner.to(self.device), self.device)

    def _train(self, training: AnyTraining, epoch: int, spent: float) -> float:
        """Return the mean loss of the epoch's steps; NaN without a step, or of a submission."""
        if isinstance(training, Untrained):
            return math.nan
        limit = self.spec.budget.seconds if self.spec.budget else float("inf")
        started, total, steps = time.perf_counter(), torch.zeros((), device=self.device), 0

        def check(step: int) -> None:
            if spent + time.perf_counter() - started > limit:
                reason = f"the budget of {limit:g} s was spent in epoch {epoch}, step {step}"
                raise _BudgetSpent(reason)

        if isinstance(training, SubmissionTraining):
            training.epoch(epoch, check)
            return math.nan
        for loss in training.epoch(epoch):
            total += loss
            steps += 1
            check(steps)
        mean = float(total) / steps
        if not math.isfinite(mean):
            raise Diverged(f"the training loss became {mean} in epoch {epoch}")
        return mean

    def _measure(
        self, training: AnyTraining, evaluator: Evaluator, epoch: int, loss: float, trained: float
    ) -> EpochRecord:
        started = time.perf_counter()
        if not all(weight.isfinite().all() for weight in training.learner.parameters()):
            raise Diverged(f"a weight became NaN or infinite in epoch {epoch}")
        try:
            scores = evaluator.measure(training.learner)[MAIN]
        except TrialFailure as failure:
            raise type(failure)(f"epoch {epoch} could not be measured: {failure}") from failure
        return EpochRecord(
            epoch=epoch,
            train_loss=loss,
            learning_rate=learning_rate(self.spec.schedule, epoch),
            scores=scores,
            train_seconds=trained,
            evaluation_seconds=time.perf_counter() - started,
        )

    def _keep(
        self, training: AnyTraining, epoch: int, spent: float, record: EpochRecord | None
    ) -> None:
        # The record comes before the state: a crash between the two repeats an epoch, whereas
        # the other order could lose one.
        if record is not None:
            snapshot = self._snapshot(training, epoch)
            keep = self.keep != "none"
            self.storage.write_epoch(record, self.main.id, snapshot, keep, self.answers)
            if self.keep == "last":
                self.storage.prune(range(1, epoch))
        state = training.state()
        if state is None:  # an interrupted training starts again, with all of its budget
            return
        buffer = io.BytesIO()
        torch.save({"epoch": epoch, "spent": spent, **state}, buffer)
        self.storage.write_resume(buffer.getvalue(), epoch)

    def _snapshot(self, training: AnyTraining, epoch: int) -> bytes:
        spec, benchmark = self.spec, self.benchmark
        description = Description(
            learner={"name": spec.learner.name, **spec.learner.options},
            backbone={"name": spec.backbone.name, **spec.backbone.options},
            image_shape=benchmark.image_shape,
            pixel_mean=benchmark.pixel_mean,
            pixel_std=benchmark.pixel_std,
            holds_features=benchmark.train.pool.holds_features,
            n_base_classes=benchmark.n_base_classes,
            trial=spec.id,
            epoch=epoch,
            version=VERSION,
        )
        return snapshot_bytes(training.learner, description)

    def _resumed(self, last: int) -> tuple[AnyTraining, int, float]:
        """Return the training to continue up to an epoch, the epochs done and the seconds spent.

        The training is a new one unless there is an undamaged state that can be loaded and follows
        the recorded weights, and all epochs up to it are recorded without damage. To train again
        gives the same numbers.
        """
        training, data = self._training(), self.storage.read_resume()
        due = {epoch for epoch in self.spec.recorded_epochs if epoch <= last}
        recorded = self.storage.recorded(self.main.id)
        if last in due <= recorded:  # it was stopped before its end was, or goes beyond
            return training, last, 0.0
        if data is None:
            return training, 0, 0.0
        try:
            state = torch.load(io.BytesIO(data), map_location=self.device, weights_only=True)
            needed = {epoch for epoch in due if epoch <= state["epoch"]}
            if state["epoch"] <= last and needed <= recorded:
                training.restore(state)
                return training, state["epoch"], state["spent"]
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception:  # another version's state; or a submission failed halfway, with any error
            return self._training(), 0, 0.0
        return training, 0, 0.0


def use_threads(threads: int) -> None:
    """Give torch this many threads and its reproducible kernels, for all of this process."""
    torch.set_num_threads(threads)
    # As use_deterministic_algorithms(True, warn_only=True), which loads torch's compiler: 1.4 s.
    torch.set_deterministic_debug_mode("warn")
    torch.backends.cudnn.benchmark = False


class _BudgetSpent(BaseException):
    """Ends the epoch loop. No ``except Exception`` of a submission in training catches it."""
