"""Running the pending trials of a plan on Ray, or one in this process; nothing is printed.

What imports torch is imported late, since Ray starts meanwhile.
"""

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import islice
from typing import NamedTuple

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import ConfigError, FslSweepError, RunFolderError
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.ledger.lock import run_lock
from fsl_sweep.orchestrator.planning.prepare import Prepared
from fsl_sweep.orchestrator.records.measures import TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.sweep.environment import environment
from fsl_sweep.orchestrator.sweep.listener import SweepListener
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess

Following = Callable[[Plan, Sequence[str]], AbstractContextManager[Sequence[SweepListener]]]
"""The listeners for a plan and the ids of the trials that are about to run."""


class Executed(NamedTuple):
    """How many trials ran, and how many of them failed."""

    ran: int
    failed: int


def _nobody(*_: object) -> AbstractContextManager[Sequence[SweepListener]]:
    return nullcontext(())


def execute(
    prepared: Prepared,
    address: str | None = None,
    following: Following = _nobody,
    notify: Callable[[str], None] = lambda _: None,
) -> Executed:
    """Run every pending trial; with nothing pending, Ray is not even started.

    Args:
        prepared: the sweep.
        address: a Ray cluster to join; None starts Ray on this machine.
        following: gives the listeners.
        notify: called with each remark about the run folder.

    Raises:
        UserError: the data is missing or does not fill an episode, or the run folder is in use.
        MachineFailure: Ray did not start or went away, or a disk is full.
    """
    with ExitStack() as stack:
        ray = None
        if early := _surely_pending(prepared):
            # Ray takes longer to start than planning and opening the data together.
            ray = stack.enter_context(RayProcess(address, early))
        benchmark = prepared.benchmark()
        plan = stack.enter_context(_recording(prepared, benchmark, notify))
        ledger, config = prepared.ledger, prepared.sweep.config
        chosen = plan.ids_of(prepared.only)
        pending = {trial: spec for trial, spec in ledger.pending(plan).items() if trial in chosen}
        if not pending:
            return Executed(0, 0)
        ray = ray or stack.enter_context(RayProcess(address, len(pending)))
        stack.callback(ray.stop)  # before the lock on the folder that its workers write to
        _note_environment(ledger)
        job = Job(
            run=ledger.path,
            specs=pending,
            fingerprint=benchmark.fingerprint,
            root=prepared.root,
            resources=config.resources,
            retries=config.retries,
        )
        with following(plan, list(pending)) as listeners:
            ray.run(job, listeners)
        left = ledger.pending(plan)
        return Executed(len(pending), sum(trial in left for trial in pending))


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
    benchmark = prepared.benchmark()
    planned = prepared.plan.trials[index]
    before = prepared.ledger.read_plan()
    if before is not None and planned.id not in before.specs:
        raise RunFolderError(
            f"{prepared.ledger.path} was planned without this trial ({planned.id}). Give another "
            "folder with -o, or change its plan with `fsl-sweep run`."
        )
    with _recording(prepared, benchmark, keep_plan=before is not None) as plan:
        storage = prepared.ledger.trial(planned.id)
        if storage.unfinished(planned):
            _note_environment(prepared.ledger)
            use_threads(prepared.sweep.config.resources.cpu)
            with following(plan, [planned.id]) as listeners:
                for listener in listeners:
                    listener.started(planned.id)
                for record in Trial(planned.spec, storage, benchmark).run():
                    for listener in listeners:
                        listener.measured(planned.id, record)
        return storage.history(planned).end or TrialEnd("failed", "its records are damaged")


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
    benchmark: Benchmark,
    notify: Callable[[str], None] = lambda _: None,
    keep_plan: bool = False,
) -> Iterator[Plan]:
    """Hold the run folder's lock, with the plan and the common tasks recorded in it."""
    from fsl_sweep.datasets.splits.class_folds import fold_benchmark
    from fsl_sweep.orchestrator.planning.feasibility import check_feasible

    cautions = (*prepared.plan.cautions, *check_feasible(prepared.plan, benchmark))
    plan = dataclasses.replace(prepared.plan, fingerprint=benchmark.fingerprint, cautions=cautions)
    ledger = prepared.ledger
    with run_lock(ledger.path):
        try:
            ledger.folder.sweep_unfinished()
            if keep_plan:
                ledger.check_plan(plan)
            else:
                for remark in ledger.notices(plan):
                    notify(remark)
                ledger.write_plan(plan, prepared.sweep.text)
                _write_tasks(prepared, benchmark, "")
                for fold in plan.folds:
                    ours = fold_benchmark(benchmark, **fold.model_dump())
                    _write_tasks(prepared, ours, f"fold-{fold.index}-")
            yield plan
        except BaseException:
            with suppress(FslSweepError):  # what is being raised says more
                ledger.folder.sweep_unfinished()
            raise


def _write_tasks(prepared: Prepared, benchmark: Benchmark, prefix: str) -> None:
    from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks

    config = prepared.sweep.config
    drawn = CommonTasks.draw(benchmark, config.episode, config.evaluation)
    for (measure, task_set), episodes in drawn.episodes.items():
        content = {
            "fingerprint": benchmark.fingerprint,
            "seed": config.evaluation.seed,
            "episode": config.episode.model_dump(mode="json"),
            "classes": episodes.classes.tolist(),
        }
        name = f"tasks/{prefix}{measure}-{task_set}.json"
        if prepared.ledger.read_note(name) != content:
            prepared.ledger.write_note(name, content)


def _note_environment(ledger: Ledger) -> None:
    """Add this machine to ``environment.json`` unless it is listed there."""
    noted, here = ledger.read_note("environment.json") or {}, environment()
    machines = noted.get("machines", [])
    if here not in machines:
        ledger.write_note("environment.json", {"machines": [*machines, here]})
