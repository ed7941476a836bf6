"""What ``fsl-sweep run`` and ``fsl-sweep trial`` do: prepare, show the plan, execute."""

import dataclasses
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.opening import open_benchmark
from fsl_sweep.orchestrator.blame import blaming
from fsl_sweep.orchestrator.class_fold import benchmark_of
from fsl_sweep.orchestrator.cli import planned_work, unplanned
from fsl_sweep.orchestrator.config import TrialSpec
from fsl_sweep.orchestrator.console import SafeConsole
from fsl_sweep.orchestrator.environment import environment
from fsl_sweep.orchestrator.errors import (
    ConfigError,
    FslSweepError,
    RunFolderError,
    UnknownName,
    UserError,
    did_you_mean,
)
from fsl_sweep.orchestrator.evaluation import CommonTasks
from fsl_sweep.orchestrator.events import SweepListener
from fsl_sweep.orchestrator.feasibility import check_feasible
from fsl_sweep.orchestrator.ledger import Ledger
from fsl_sweep.orchestrator.lock import check_writable, run_lock
from fsl_sweep.orchestrator.plan import Plan
from fsl_sweep.orchestrator.printed import counted, say
from fsl_sweep.orchestrator.progress import LiveProgress, PlainProgress, trial_label
from fsl_sweep.orchestrator.records import TrialEnd
from fsl_sweep.orchestrator.report import Report, wording
from fsl_sweep.orchestrator.reported_metric import base_weight
from fsl_sweep.orchestrator.resolve import plan_sweep
from fsl_sweep.orchestrator.selectors import hyperparameter_selector, snapshot_selector
from fsl_sweep.orchestrator.selectors.base import is_cross_validated
from fsl_sweep.orchestrator.sweep_process import Job, RayProcess
from fsl_sweep.orchestrator.sweepfile import SweepFile, load_sweep


@dataclass(frozen=True)
class Prepared:
    """A sweep that has been read and planned, and the folder that it goes to."""

    sweep: SweepFile
    plan: Plan
    ledger: Ledger
    only: tuple[str, ...]

    @property
    def root(self) -> Path | None:
        """Where the benchmark's files are, if the file says so."""
        root = self.sweep.config.benchmark.options.get("root")
        return Path(root) if root else None


def prepare(
    name_or_path: str, output: Path | None, overrides: list[str], only: list[str]
) -> Prepared:
    """Read and plan a sweep; nothing is written and no data is touched.

    Raises:
        ConfigError: anything wrong with the file, an option, or a name in it.
    """
    sweep = load_sweep(name_or_path, overrides)
    config = sweep.config
    with blaming(sweep.where, overrides, config.methods):
        plan = plan_sweep(sweep)
        for method in only:
            if method not in config.methods:
                problem = f"unknown method '{method}'; {did_you_mean(method, config.methods)}"
                raise ConfigError(sweep.where, "--only", problem)
        _check_selectors(sweep)
    ledger = Ledger(output or Path("runs") / config.name)
    return Prepared(sweep, plan, ledger, tuple(only))


def _check_selectors(sweep: SweepFile) -> None:
    """Whether every selector of the file can be had, and has what it reads."""
    config = sweep.config
    for kind, build, names in (
        ("snapshot", snapshot_selector, config.selectors.snapshot),
        ("hyperparameter", hyperparameter_selector, config.selectors.hyperparameter),
    ):
        for number, name in enumerate(names):
            path = f"selectors.{kind}.{number}"
            try:
                selector = build(name)
            except (UnknownName, ConfigError) as failure:
                raise ConfigError(sweep.where, path, str(failure)) from None
            if is_cross_validated(selector) and config.cross_validation is None:
                problem = f"'{name}' needs class folds; add `cross_validation: {{folds: 4}}`"
                raise ConfigError(sweep.where, path, problem)
    try:
        base_weight(config.selectors.metric)
    except (UnknownName, ConfigError) as failure:
        raise ConfigError(sweep.where, "selectors.metric", str(failure)) from None


def show_plan(prepared: Prepared) -> int:
    """Print trials, cost and what is done already; then what stands in the way of running them.

    Returns:
        The exit code: 2 where the folder cannot be written, data is missing or an episode cannot
        be filled, else 0.
    """
    plan = prepared.plan
    prepared.ledger.check_plan(plan)
    pending = prepared.ledger.pending(plan)
    say(f"{plan.name}: {plan.counted} of {counted(len(plan.methods), 'method')}")
    say(f"run folder: {prepared.ledger.path}")
    for number, trial in enumerate(plan.trials):
        label = trial_label(trial.method, trial.hyperparameters, trial.spec.seed, trial.fold)
        state = "to run" if trial.id in pending else "done"
        say(f"  {number:4d}  {trial.id}  {state:6}  {label}")
    done = len(plan.specs) - len(pending)
    say(f"done already: {done}; to run: {len(pending)}")
    say(f"to train: {planned_work.summary(pending)}")
    seconds = planned_work.expected_seconds(plan, prepared.ledger.histories(plan), pending)
    if seconds is not None:
        expected = wording.duration(seconds)
        say(f"expected: {expected} of trial time, from the pace of those done already")
    for caution in plan.cautions:
        say(f"caution: {caution}")
    left_out = prepared.ledger.unplanned(plan)
    for name in left_out:
        say(f"no longer planned, left out of the report: {name}")
    if left_out:
        say(f"  {unplanned.COME_BACK}")
    obstacles, cautions = _against_the_data(prepared)
    for caution in cautions:
        say(f"caution: {caution}")
    for obstacle in obstacles:
        say(f"fsl-sweep: this plan cannot run: {obstacle}", sys.stderr)
    return 2 if obstacles else 0


def _against_the_data(prepared: Prepared) -> tuple[list[UserError], tuple[str, ...]]:
    """What a run of the plan would stop at before it trains, and what the data caution of."""
    obstacles: list[UserError] = []
    cautions: tuple[str, ...] = ()
    try:
        check_writable(prepared.ledger.path)
    except UserError as obstacle:
        obstacles.append(obstacle)
    try:
        cautions = check_feasible(prepared.plan, _open(prepared))
    except UserError as obstacle:
        obstacles.append(obstacle)
    return obstacles, cautions


def execute(prepared: Prepared, address: str | None, progress: bool) -> tuple[int, Report]:
    """Run every pending trial; with nothing pending, Ray is not even started.

    Returns:
        How many trials failed, and the report.
    """
    with ExitStack() as stack:
        ray = None
        if early := _surely_pending(prepared):
            # Ray takes longer to start than all that comes before it is needed.
            ray = stack.enter_context(RayProcess(address, early))
        benchmark = _open(prepared)
        plan = stack.enter_context(_recording(prepared, benchmark))
        if (notice := unplanned.notice(prepared.ledger, plan)) is not None:
            say(notice, sys.stderr)
        pending = {
            trial: spec
            for trial, spec in prepared.ledger.pending(plan).items()
            if trial in _trials_of(plan, prepared.only)
        }
        if pending:
            ray = ray or stack.enter_context(RayProcess(address, len(pending)))
            _run(prepared, plan, benchmark, ray, pending, progress)
        from fsl_sweep.orchestrator.run import load_run

        run = load_run(prepared.ledger.path)
        report = run.report()
        if pending:
            from fsl_sweep.orchestrator.tensorboard import rebuild

            rebuild(run.path / "tensorboard", run.histories, report.selected)
        left = prepared.ledger.pending(plan) if pending else {}
        return sum(trial in left for trial in pending), report


def _surely_pending(prepared: Prepared) -> int:
    """How many trials are to run, as far as a glance tells, and as many as there are cores at most.

    They are those whose end is not recorded.
    """
    plan, ledger = prepared.plan, prepared.ledger
    ledger.check_plan(plan)
    chosen = _trials_of(plan, prepared.only)
    unended = (trial for trial in chosen if ledger.trial(trial).folder.stamp("end.json") is None)
    return len([*islice(unended, os.cpu_count() or 1)])


def _run(
    prepared: Prepared,
    plan: Plan,
    benchmark: Benchmark,
    ray: RayProcess,
    pending: Mapping[str, TrialSpec],
    progress: bool,
) -> None:
    """Run trials on Ray, with everything that follows them, and end Ray."""
    from fsl_sweep.orchestrator.tensorboard import LiveView

    ledger, config = prepared.ledger, prepared.sweep.config
    job = Job(
        ledger.path, pending, benchmark.fingerprint, prepared.root, config.resources, config.retries
    )
    _note_environment(ledger)
    with ExitStack() as stack:
        stack.callback(ray.stop)
        view = LiveView(ledger.path / "tensorboard", ledger.histories(plan))
        listeners: list[SweepListener] = [stack.enter_context(view)]
        if progress:
            listeners.append(stack.enter_context(_progress(plan, list(pending))))
        ray.run(job, listeners)


def execute_one(prepared: Prepared, index: int) -> TrialEnd:
    """Run one trial of the plan in this process, without Ray.

    Raises:
        ConfigError: there is no trial of that number.
    """
    from fsl_sweep.orchestrator.trial import Trial, use_threads

    if not 0 <= index < len(prepared.plan.trials):
        last = len(prepared.plan.trials) - 1
        raise ConfigError("--index", str(index), f"the plan's trials are numbered 0 to {last}")
    benchmark = _open(prepared)
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
            with PlainProgress(plan, [planned.id], sys.stdout) as lines:
                lines.started(planned.id)
                for record in Trial(planned.spec, storage, benchmark).run():
                    lines.measured(planned.id, record)
        end = storage.history(planned).end or TrialEnd("failed", "its records are damaged")
        label = trial_label(
            planned.method, planned.hyperparameters, planned.spec.seed, planned.fold
        )
        say(f"{label}: {end.status}{': ' + end.reason if end.reason else ''}")
        return end


@contextmanager
def _recording(prepared: Prepared, benchmark: Benchmark, keep_plan: bool = False) -> Iterator[Plan]:
    """Hold the run folder's lock, with the plan and the common tasks recorded in it."""
    cautions = (*prepared.plan.cautions, *check_feasible(prepared.plan, benchmark))
    plan = dataclasses.replace(prepared.plan, fingerprint=benchmark.fingerprint, cautions=cautions)
    ledger = prepared.ledger
    with run_lock(ledger.path):
        try:
            ledger.folder.sweep_unfinished()
            if keep_plan:
                ledger.check_plan(plan)
            else:
                if (changed := unplanned.changed_file(ledger)) is not None:
                    say(changed, sys.stderr)
                ledger.write_plan(plan, prepared.sweep.text)
                _write_tasks(prepared, benchmark, "")
                for fold in plan.folds:
                    _write_tasks(prepared, benchmark_of(fold, benchmark), f"fold-{fold.index}-")
            yield plan
        except BaseException:
            with suppress(FslSweepError):  # what is being raised says more
                ledger.folder.sweep_unfinished()
            raise


def _open(prepared: Prepared) -> Benchmark:
    benchmark = prepared.plan.trials[0].spec.benchmark
    return open_benchmark(benchmark.name, benchmark.options, prepared.root)


def _trials_of(plan: Plan, methods: tuple[str, ...]) -> set[str]:
    """Ids of these methods' trials; of all where none is named."""
    return {trial.id for trial in plan.trials if not methods or trial.method in methods}


def _write_tasks(prepared: Prepared, benchmark: Benchmark, prefix: str) -> None:
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
    """Add this machine to ``environment.json``, unless it stands there already."""
    noted, here = ledger.read_note("environment.json") or {}, environment()
    machines = noted.get("machines", [])
    if here not in machines:
        ledger.write_note("environment.json", {"machines": [*machines, here]})


def _progress(plan: Plan, pending: list[str]) -> LiveProgress | PlainProgress:
    console = SafeConsole(stderr=True)
    if console.is_terminal:
        return LiveProgress(plan, pending, console)
    return PlainProgress(plan, pending, sys.stderr)
