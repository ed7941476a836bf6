"""Running the pending trials of a plan on Ray, or one in this process; nothing is printed.

What imports torch is imported late, since Ray starts meanwhile.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import ConfigError, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.planning.early_stopping import scheduler_remarks
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.sweep.process import RESUMES, Job, RayProcess, TimeIsUp
from fsl_sweep.orchestrator.sweep.users import pickled
from fsl_sweep.orchestrator.text.printed import counted
from fsl_sweep.orchestrator.upkeep.early_stopping import advance
from fsl_sweep.orchestrator.upkeep.pruning import (
    LOST,
    prunable,
    prune,
    prune_ended,
    remove_states,
    states,
)
from fsl_sweep.orchestrator.upkeep.recording import locked, note_environment, write_tasks
from fsl_sweep.orchestrator.upkeep.remaining import Todo, check_there, to_measure
from fsl_sweep.orchestrator.upkeep.retrying import check_retry, set_aside, to_retry
from fsl_sweep.orchestrator.upkeep.searching import next_round

if TYPE_CHECKING:
    from fsl_sweep.orchestrator.planning.measure_request import MeasureRequest

RETRIES = 2
"""Attempts after the first where measuring a trial fails."""

_REASONS = 5
"""So many are told: each names the process that failed."""

Following = Callable[
    [Plan, Sequence[str], Mapping[str, Todo] | None],
    AbstractContextManager[Sequence[SweepListener]],
]
"""The listeners for a plan, the ids of the trials that are about to run, and what is to be measured
of them; None where they are trained."""


class Executed(NamedTuple):
    """What was done.

    Attributes:
        ran: how many trials were trained.
        failed: how many of them failed.
        measured: how many snapshots were measured after training.
        unmeasured: how many could not be.
        reasons: why not.
        stopped: whether the time was up before all was done.
    """

    ran: int = 0
    failed: int = 0
    measured: int = 0
    unmeasured: int = 0
    reasons: tuple[str, ...] = ()
    stopped: bool = False


def _starting(
    address: str | None, callbacks: Sequence[Any] = (), until: float | None = None
) -> Callable[[int], RayProcess]:
    """Return what starts Ray for so many trials, as far as is known. Raises UserError."""
    deadline = None if until is None else time.monotonic() + until
    more = {"callbacks": pickled(callbacks), "deadline": deadline}
    return lambda trials: RayProcess(address, trials, **{k: v for k, v in more.items() if v})


def _nobody(*_: object) -> AbstractContextManager[Sequence[SweepListener]]:
    return nullcontext(())


def execute(
    prepared: Prepared,
    address: str | None = None,
    following: Following = _nobody,
    notify: Callable[[str], None] = lambda _: None,
    callbacks: Sequence[Any] = (),
    until: float | None = None,
    complete: bool = False,
) -> Executed:
    """Train every pending trial, measure what is missing, and prune; without any of it, no Ray.

    Args:
        prepared: the sweep.
        address: a Ray cluster to join; None starts Ray on this machine.
        following: gives the listeners.
        notify: called with each remark about the run folder.
        callbacks: of Tune, which run in the process that holds Ray.
        until: seconds from now, after which nothing more is begun or waited for.
        complete: whether to train what a scheduler stops or stopped, too.

    Raises:
        UserError: the data is missing or does not fill an episode, the run folder is in use, a
            trial that is to be run again is not planned, snapshots that are to be measured were
            pruned, or a callback cannot be used.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    starting = _starting(address, callbacks, until)
    with ExitStack() as stack:
        if prepared.retry:
            check_retry(prepared.retry, prepared.plan.ids_of(prepared.only))
        ray = None
        if early := _surely_pending(prepared):
            # Ray takes longer to start than planning and opening the data together.
            ray = stack.enter_context(starting(early))
        opened, benchmarks = prepared.opened()
        plan = stack.enter_context(_recording(prepared, opened, benchmarks, notify))
        ledger, chosen = prepared.ledger, plan.ids_of(prepared.only)
        again = to_retry(ledger, prepared.retry, [t for t in plan.specs if t in chosen])
        # Before anything is trained: what cannot be measured stops the run.
        known = [protocol for protocol in plan.requested if protocol.snapshots != "chosen"]
        to_measure(ledger, plan, known, chosen.difference(again))
        for remark in set_aside(ledger, plan, prepared.retry, again) if prepared.retry else ():
            notify(remark)
        for remark in [] if complete else scheduler_remarks(plan):
            notify(remark)
        pending = [*advance(ledger, plan, chosen, complete, notify=notify)]
        if pending and plan.keep != "all":
            notify(f"keep: {plan.keep}. {LOST[plan.keep]}")
        config = prepared.sweep.config
        jobs = _Jobs(ledger, plan, config.retries, starting, following, notify, stack, ray)
        jobs.stall, jobs.whole = config.stall, complete
        done = jobs.all(prepared, benchmarks, pending)
        plan = jobs.plan
        left = {trial: ledger.trial(trial).read_end() for trial in ledger.pending(plan)}
        if not (left or done.unmeasured or done.stopped):
            prune(ledger, prunable(ledger, plan, plan.keep))
            if plan.keep == "none":
                remove_states(ledger, states(ledger, plan))
        failed = [t for t in jobs.ran if t in left and not (done.stopped and left[t] is None)]
        return done._replace(ran=len(jobs.ran), failed=len(failed))


def measure(
    request: "MeasureRequest",
    address: str | None = None,
    following: Following = _nobody,
    notify: Callable[[str], None] = lambda _: None,
) -> Executed:
    """Measure what is missing under protocols; where nothing is, no Ray. Arguments as `execute`.

    Raises:
        RunFolderError: the run folder is in use, or weights that are needed are not there.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    ledger, plan, protocols = request.ledger, request.plan, request.protocols
    trials = plan.specs.keys()
    with ExitStack() as stack:
        stack.enter_context(locked(ledger, notify))
        if left := ledger.pending(plan):
            notify(
                f"{ledger.path}: {counted(len(left), 'trial')} of {len(trials)} must still be "
                "trained and take no part; run the same command again once they are."
            )
        check_there(ledger, plan, protocols)
        for caution in request.cautions:
            notify(f"caution: {caution}")
        plan = ledger.add_protocols(protocols, request.places, request.cautions)
        write_tasks(ledger, plan, protocols, request.benchmarks)
        jobs = _Jobs(ledger, plan, RETRIES, _starting(address), following, notify, stack)
        return jobs.measure(protocols, trials)


@dataclass
class _Jobs:
    """Starts Ray for the first job and gives it the others too."""

    ledger: Ledger
    plan: Plan
    retries: int
    starting: Callable[[int], RayProcess]
    following: Following
    notify: Callable[[str], None]
    stack: ExitStack
    ray: RayProcess | None = None
    stall: float | None = None
    whole: bool = False
    ran: list[str] = field(default_factory=list)
    tried: set[tuple[str, int]] = field(default_factory=set)

    def all(
        self, prepared: Prepared, benchmarks: Mapping[str, Benchmark], pending: Sequence[str]
    ) -> Executed:
        """Train what is pending, and each round of a search; measure what the sweep file asks for.

        ``plan`` and ``ran`` hold what was planned and trained then.
        """
        measured = 0
        try:
            while True:
                chosen = self.plan.ids_of(prepared.only)
                self.ran += pending
                if pending:
                    self.train(pending, chosen)
                if self.plan.search is None:
                    break
                # A searcher is told of it.
                measured += self.measure([self.plan.main], chosen).measured
                more = next_round(prepared, self.plan, benchmarks, self.notify)
                if more is None:
                    break
                self.plan = more
                may = advance(self.ledger, more, more.ids_of(prepared.only), self.whole)
                pending = [trial for trial in may if trial not in self.ran]
            done = self.measure(self.plan.requested, chosen)
        except TimeIsUp:
            self.notify(f"The time is up. {RESUMES}")
            done = Executed(stopped=True)
        if self.ray is not None:
            if not done.stopped:
                self.ray.finish(self.ledger.path)
            self.ray.stop()
        return done._replace(measured=done.measured + measured)

    def train(self, pending: Sequence[str], chosen: Collection[str]) -> None:
        """Train the chosen trials, of which these are pending: rung by rung with a scheduler."""
        ends = _Ends(self.ledger, self.plan, self.plan.kept_while_training == "chosen", self.notify)
        waiting = [trial for trial in self.ledger.pending(self.plan) if trial in chosen]
        with self.following(self.plan, waiting or pending, None) as listeners:
            heard = [ends, *listeners]

            def stopped(trial: str, end: TrialEnd) -> None:
                for listener in heard:
                    listener.ended(trial, end)

            while True:
                may = advance(self.ledger, self.plan, chosen, self.whole, stopped, self.notify)
                # What failed has used up its attempts; other methods go on without it.
                untried = {trial: e for trial, e in may.items() if (trial, e) not in self.tried}
                if not untried:
                    break
                self._on_ray([*untried], heard, until=untried)
                self.tried |= untried.items()
                if self.plan.scheduler is None or self.whole:
                    break

    def run(self, trials: Sequence[str], todo: Mapping[str, Todo]) -> tuple[str, ...]:
        """Measure what is to do of these trials; gives why some failed."""
        ends = _Ends(self.ledger, self.plan, False, self.notify)
        with self.following(self.plan, trials, todo) as listeners:
            self._on_ray(trials, [ends, *listeners], todo)
        first, more = [*ends.reasons][:_REASONS], len(ends.reasons) - _REASONS
        return (*first, f"and {counted(more, 'other reason')}") if more > 0 else tuple(first)

    def _on_ray(
        self,
        trials: Sequence[str],
        listeners: Sequence[SweepListener],
        todo: Mapping[str, Todo] | None = None,
        until: Mapping[str, int] | None = None,
    ) -> None:
        if self.ray is None:
            self.ray = self.stack.enter_context(self.starting(len(trials)))
        # Before the lock on the folder that its workers write to is released.
        self.stack.callback(self.ray.stop)
        note_environment(self.ledger)
        plan, ids = self.plan, tuple(self.plan.seed_by_seed(trials))
        job = Job(self.ledger.path, plan, ids, todo, self.retries, self.stall, until)
        self.ray.run(job, listeners)

    def measure(self, protocols: Sequence[PlannedProtocol], trials: Collection[str]) -> Executed:
        """Measure what is missing under these protocols, as far as these trials have ended.

        The main one comes first, because snapshots are chosen by it.
        """
        count = 0
        for group in ([protocol for protocol in protocols if protocol.name == MAIN], protocols):
            if todo := to_measure(self.ledger, self.plan, group, trials):
                reasons = self.run([*todo], todo)
                left = to_measure(self.ledger, self.plan, group, trials)
                failed = sum(map(len, left.values()))
                count += sum(map(len, todo.values())) - failed
                if failed:
                    return Executed(measured=count, unmeasured=failed, reasons=reasons)
        # A process may have been killed after its last record, before it compacted them.
        for protocol in (protocol for protocol in protocols if protocol.snapshots != "chosen"):
            for storage in map(self.ledger.trial, trials):
                if storage.measurements.files(protocol.id):
                    storage.compact(protocol.id)
        return Executed(measured=count)


class _Ends(SweepListener):
    """Remembers why trials failed for good; prunes each where only chosen snapshots are kept."""

    def __init__(
        self, ledger: Ledger, plan: Plan, prunes: bool, notify: Callable[[str], None]
    ) -> None:
        self._ledger, self._plan, self._prunes = ledger, plan, prunes
        self._notify = notify
        self.reasons: dict[str, None] = {}

    def remark(self, text: str) -> None:
        self._notify(text)

    def ended(self, trial: str, end: TrialEnd) -> None:
        if end.status == "failed":
            self.reasons[end.reason] = None
        if self._prunes:
            prune_ended(self._ledger, self._plan, trial)


def execute_one(prepared: Prepared, index: int, following: Following = _nobody) -> TrialEnd:
    """Run one trial of the plan in this process, without Ray.

    Raises:
        ConfigError: there is no trial of that number.
        RunFolderError: the run folder was planned without it.
    """
    from fsl_sweep.orchestrator.trial.allocator import keep_freed_memory
    from fsl_sweep.orchestrator.trial.trial import use_threads

    keep_freed_memory()
    if not 0 <= index < len(prepared.plan.trials):
        last = len(prepared.plan.trials) - 1
        raise ConfigError("--index", str(index), f"the plan's trials are numbered 0 to {last}")
    plan, benchmarks = prepared.opened()
    planned = plan.trials[index]
    before = prepared.ledger.read_plan()
    if before is not None and planned.id not in before.specs:
        raise RunFolderError(
            f"{prepared.ledger.path} was planned without this trial ({planned.id}). Give another "
            "folder with -o, or change its plan with `fsl-sweep run`."
        )
    with _recording(prepared, plan, benchmarks, keep_plan=before is not None) as plan:
        storage, main = prepared.ledger.trial(planned.id), plan.main.id
        job = Job(prepared.ledger.path, plan, (planned.id,))
        use_threads(plan.resources_of(planned.id).cpu)
        if storage.unfinished(planned, main):
            note_environment(prepared.ledger)
            with following(plan, job.trials, None) as listeners:
                for listener in listeners:
                    listener.started(planned.id)
                for record in job.steps(planned.id, benchmarks):
                    assert isinstance(record, EpochRecord)
                    for listener in listeners:
                        listener.measured(planned.id, record)
        elif missing := storage.to_measure(main, answers=plan.records_answers):
            job = job._replace(todo={planned.id: dict.fromkeys(missing, (MAIN,))})
            for _ in job.steps(planned.id, benchmarks):
                pass
        return storage.planned_part(planned.spec).end or TrialEnd(
            "failed", "its records are damaged"
        )


def _surely_pending(prepared: Prepared) -> int:
    """Return how many of the trials have no recorded end, up to the number of cores.

    Where nothing was planned before, none has, and the sweep need not be planned to know it.
    """
    cores, ledger, config = os.cpu_count() or 1, prepared.ledger, prepared.sweep.config
    if "plan.json" not in ledger.folder.names():
        return min(cores, len(config.seeds) * len(prepared.only or config.methods))
    ledger.check_plan(prepared.plan)
    chosen = prepared.plan.ids_of(prepared.only)
    unended = (t for t in chosen if not ledger.trial(t).folder.size("end.json"))
    return len([*islice(unended, cores)])


@contextmanager
def _recording(
    prepared: Prepared,
    plan: Plan,
    benchmarks: Mapping[str, Benchmark],
    notify: Callable[[str], None] = lambda _: None,
    keep_plan: bool = False,
) -> Iterator[Plan]:
    """Hold the run folder's lock, with the plan and the common tasks recorded in it."""
    ledger = prepared.ledger
    with locked(ledger, notify):
        if keep_plan and (before := ledger.check_plan(plan)) is not None:
            recorded = [protocol for protocol in before.requested if protocol in plan.requested]
            write_tasks(ledger, before, recorded, benchmarks)
        else:
            for remark in ledger.notices(plan, plan.ids_of(prepared.only)):
                notify(remark)
            plan = ledger.write_plan(plan, prepared.sweep.text)
            write_tasks(ledger, plan, plan.requested, benchmarks)
        yield plan
