"""Running the pending trials of a plan on Ray, or one in this process; nothing is printed.

What imports torch is imported late, since Ray starts meanwhile.
"""

import dataclasses
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import ConfigError, FslSweepError, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.lock import run_lock
from fsl_sweep.orchestrator.planning.prepare import Prepared, opened_plan
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, Kept, PlannedProtocol
from fsl_sweep.orchestrator.sweep.environment import environment
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess, Todo
from fsl_sweep.orchestrator.sweep.remaining import kept_while_training, prunable, to_measure

Following = Callable[
    [Plan, Sequence[str], Mapping[str, Todo] | None],
    AbstractContextManager[Sequence[SweepListener]],
]
"""The listeners for a plan, the ids of the trials that are about to run, and what is to be measured
of them; None where they are trained."""


class Executed(NamedTuple):
    """What was done.

    Attributes:
        ran: trials that were trained.
        failed: how many of them failed.
        measured: snapshots that were measured after training.
        unmeasured: snapshots that could not be.
        pruned: snapshots whose weights were removed.
    """

    ran: int = 0
    failed: int = 0
    measured: int = 0
    unmeasured: int = 0
    pruned: int = 0


def _nobody(*_: object) -> AbstractContextManager[Sequence[SweepListener]]:
    return nullcontext(())


def execute(
    prepared: Prepared,
    address: str | None = None,
    following: Following = _nobody,
    notify: Callable[[str], None] = lambda _: None,
) -> Executed:
    """Train every pending trial, measure what is missing, and prune; without any of it, no Ray.

    Args:
        prepared: the sweep.
        address: a Ray cluster to join; None starts Ray on this machine.
        following: gives the listeners.
        notify: called with each remark about the run folder.

    Raises:
        UserError: the data is missing or does not fill an episode, the run folder is in use, or
            snapshots that are to be measured were pruned.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    with ExitStack() as stack:
        ray = None
        if early := _surely_pending(prepared):
            # Ray takes longer to start than planning and opening the data together.
            ray = stack.enter_context(RayProcess(address, early))
        benchmarks = prepared.benchmarks()
        plan = stack.enter_context(_recording(prepared, benchmarks, notify))
        ledger, chosen = prepared.ledger, plan.ids_of(prepared.only)
        asked = [one for one in plan.protocols if one.asked]
        pending = [trial for trial in ledger.pending(plan) if trial in chosen]
        # Before anything is trained: what cannot be measured stops the run.
        to_measure(ledger, plan, [p for p in asked if p.snapshots != "chosen"], chosen)
        jobs = _Jobs(prepared, plan, address, following, stack, ray)
        if pending:
            jobs.run(pending, None, kept_while_training(plan))
        measured, unmeasured = jobs.measure(asked, chosen)
        left = ledger.pending(plan)
        gone = 0 if left or unmeasured else prune(ledger, prunable(ledger, plan, plan.keep))
        return Executed(
            len(pending), sum(trial in left for trial in pending), measured, unmeasured, gone
        )


@dataclass
class _Jobs:
    """Starts Ray for the first job and gives it the others too."""

    prepared: Prepared
    plan: Plan
    address: str | None
    following: Following
    stack: ExitStack
    ray: RayProcess | None

    def run(self, trials: Sequence[str], todo: Mapping[str, Todo] | None, keep: Kept) -> None:
        """Train these trials, or measure what is to do of them."""
        if self.ray is None:
            self.ray = self.stack.enter_context(RayProcess(self.address, len(trials)))
        # Before the lock on the folder that its workers write to is released.
        self.stack.callback(self.ray.stop)
        _note_environment(self.prepared.ledger)
        config = self.prepared.sweep.config
        job = Job(
            run=self.prepared.ledger.path,
            plan=self.plan,
            trials=tuple(trials),
            todo=todo,
            keep=keep,
            resources=config.resources,
            retries=config.retries,
        )
        with self.following(self.plan, trials, todo) as listeners:
            self.ray.run(job, listeners)

    def measure(
        self, protocols: Sequence[PlannedProtocol], trials: Collection[str]
    ) -> tuple[int, int]:
        """Measure what is missing under these protocols.

        The main one comes first, because snapshots are chosen by it.

        Returns:
            How many snapshots were measured, and how many could not be.
        """
        ledger, counts = self.prepared.ledger, [0, 0]
        for group in ([one for one in protocols if one.name == MAIN], protocols):
            if todo := to_measure(ledger, self.plan, group, trials):
                self.run([*todo], todo, "all")
                left = to_measure(ledger, self.plan, group, trials)
                failed = sum(map(len, left.values()))
                counts[0] += sum(map(len, todo.values())) - failed
                counts[1] += failed
                if failed:
                    break
        return counts[0], counts[1]


def prune(ledger: Ledger, epochs: Mapping[str, Collection[int]]) -> int:
    """Remove the weights of these epochs of trials, and say how many."""
    for trial, gone in epochs.items():
        ledger.trial(trial).prune(gone)
    return sum(map(len, epochs.values()))


def execute_one(prepared: Prepared, index: int, following: Following = _nobody) -> TrialEnd:
    """Run one trial of the plan in this process, without Ray.

    Raises:
        ConfigError: there is no trial of that number.
        RunFolderError: the run folder was planned without it.
    """
    from fsl_sweep.orchestrator.trial.trial import Trial, use_threads

    if not 0 <= index < len(prepared.plan.trials):
        last = len(prepared.plan.trials) - 1
        raise ConfigError("--index", str(index), f"the plan's trials are numbered 0 to {last}")
    benchmarks = prepared.benchmarks()
    planned = prepared.plan.trials[index]
    before = prepared.ledger.read_plan()
    if before is not None and planned.id not in before.specs:
        raise RunFolderError(
            f"{prepared.ledger.path} was planned without this trial ({planned.id}). Give another "
            "folder with -o, or change its plan with `fsl-sweep run`."
        )
    with _recording(prepared, benchmarks, keep_plan=before is not None) as plan:
        storage, main = prepared.ledger.trial(planned.id), plan.main
        answers = plan.record == "predictions"
        if storage.unfinished(planned, main.id):
            _note_environment(prepared.ledger)
            use_threads(prepared.sweep.config.resources.cpu)
            with following(plan, [planned.id], None) as listeners:
                for listener in listeners:
                    listener.started(planned.id)
                for record in Trial(
                    planned.spec, storage, benchmarks[MAIN], main, answers=answers
                ).run():
                    for listener in listeners:
                        listener.measured(planned.id, record)
        return storage.read_end() or TrialEnd("failed", "its records are damaged")


def _surely_pending(prepared: Prepared) -> int:
    """How many of the trials have no recorded end, up to the number of cores.

    Where nothing was planned before, none has, and the sweep need not be planned to know it.
    """
    cores, ledger, config = os.cpu_count() or 1, prepared.ledger, prepared.sweep.config
    if ledger.read_plan() is None:
        return min(cores, len(config.seeds) * len(prepared.only or config.methods))
    ledger.check_plan(prepared.plan)
    chosen = prepared.plan.ids_of(prepared.only)
    unended = (t for t in chosen if ledger.trial(t).folder.modified("end.json") is None)
    return len([*islice(unended, cores)])


@contextmanager
def _recording(
    prepared: Prepared,
    benchmarks: Mapping[str, Benchmark],
    notify: Callable[[str], None] = lambda _: None,
    keep_plan: bool = False,
) -> Iterator[Plan]:
    """Hold the run folder's lock, with the plan and the common tasks recorded in it."""
    from fsl_sweep.orchestrator.planning.feasibility import check_feasible

    cautions = (*prepared.plan.cautions, *check_feasible(prepared.plan, benchmarks))
    plan = opened_plan(dataclasses.replace(prepared.plan, cautions=cautions), benchmarks)
    ledger = prepared.ledger
    with locked(ledger):
        if keep_plan:
            ledger.check_plan(plan)
        else:
            for remark in ledger.notices(plan):
                notify(remark)
            plan = ledger.write_plan(plan, prepared.sweep.text)
            write_tasks(ledger, plan, [p for p in plan.protocols if p.asked], benchmarks)
        yield plan


@contextmanager
def locked(ledger: Ledger) -> Iterator[None]:
    """Hold the run folder's lock; what a killed process left unfinished is removed."""
    with run_lock(ledger.path):
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
    """Record the class tuples of the common tasks of these protocols."""
    from fsl_sweep.datasets.splits.class_folds import fold_benchmark

    main = benchmarks[MAIN]
    folds = {f"fold-{fold.index}-": fold for fold in plan.folds}
    for one in protocols:
        _write_tasks(ledger, one, main, benchmarks.get(one.name), "")
        for prefix, fold in folds.items() if one.snapshots == "all" else ():
            ours = fold_benchmark(main, **fold.model_dump())
            _write_tasks(ledger, one, ours, benchmarks.get(one.name), prefix)


def _write_tasks(
    ledger: Ledger,
    planned: PlannedProtocol,
    benchmark: Benchmark,
    other: Benchmark | None,
    prefix: str,
) -> None:
    from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks

    drawn = CommonTasks.draw(benchmark, planned.protocol, other)
    for (measure, task_set), episodes in drawn.episodes.items():
        content = {
            "fingerprint": benchmark.fingerprint,
            "protocol": planned.protocol.canonical(),
            "classes": episodes.classes.tolist(),
        }
        name = f"{tasks_folder(planned.id)}/{prefix}{measure}-{task_set}.json"
        if ledger.read_note(name) != content:
            ledger.write_note(name, content)


def _note_environment(ledger: Ledger) -> None:
    """Add this machine to ``environment.json`` unless it is listed there."""
    noted, here = ledger.read_note("environment.json") or {}, environment()
    machines = noted.get("machines", [])
    if here not in machines:
        ledger.write_note("environment.json", {"machines": [*machines, here]})
