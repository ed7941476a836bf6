"""What a sweep costs beside its trials: the driver's own work, beside that of plain Tune.

Targets: at most 8 ms of the driver's CPU a trial, at 1,000 and at 10,000 trials, half of plain
Tune's memory a trial, and 2 seconds of silence after the last trial.

    python -m benchmarks.sweep_overhead [TRIALS]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Episode,
    PlannedProtocol,
    Protocol,
    Tasks,
)
from fsl_sweep.orchestrator.records.spec import Selectors, TrialSpec, configuration_of
from fsl_sweep.orchestrator.sweep.process import Job
from fsl_sweep.orchestrator.sweepfile.grammar import Resources
from fsl_sweep.orchestrator.trial.trial import Trial

GLYPHS = {
    "base_alphabets": 1,
    "val_alphabets": 1,
    "novel_alphabets": 1,
    "classes_per_alphabet": 2,
    "examples": 8,
    "image_size": 8,
}
TRIALS = 1000
# Of plain Tune too: what a careful user turns off.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "100000",
}


WAYS = ("sweep", "sweep, empty trials", "plain Tune, empty trials")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Notes:
    """What the driver has used when the trials ended."""

    def __init__(self) -> None:
        self.begun = _cpu()
        self.ends: list[tuple[float, int]] = []

    def ended(self) -> None:
        held = int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
        self.ends.append((time.perf_counter(), held))

    def numbers(self) -> dict[str, float]:
        """Milliseconds of CPU and bytes a trial, and seconds after the last."""
        done, count = time.perf_counter(), len(self.ends)
        fifth = count // 5
        slope = (self.ends[-1][1] - self.ends[fifth][1]) / (count - fifth)
        cpu = 1000 * (_cpu() - self.begun) / count
        return {"cpu": cpu, "slope": slope, "silence": done - self.ends[-1][0], "trials": count}


def main() -> None:
    """Print a line for each way, each in a process of its own."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else TRIALS
    print(f"sweep overhead: {count} trials, {hardware()}")
    for way in WAYS:
        command = [sys.executable, "-m", "benchmarks.sweep_overhead", "--way", way, str(count)]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, **_QUIET, "TMPDIR": folder, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        numbers = json.loads(done.stdout.splitlines()[-1])
        print(
            f"  {way}: {numbers['cpu']:.1f} ms of the driver's CPU and "
            f"{numbers['slope'] / 1000:.1f} kB a trial, {numbers['silence']:.1f} s at the end"
        )
    print(f"  a trial alone: {1000 * _alone(50):.0f} ms")


def one_way(way: str, count: int) -> None:
    """Run trials one way, and print what the driver used; Ray's start does not count."""
    import ray

    ray.init("local", include_dashboard=False, log_to_driver=False)
    (_plain if way == WAYS[2] else _sweep)(count, way == WAYS[0])
    sys.stdout.flush()
    os._exit(0)


def _sweep(count: int, real: bool) -> None:
    from fsl_sweep.orchestrator.sweep import controller
    from fsl_sweep.orchestrator.sweep.experiment import Experiment
    from fsl_sweep.orchestrator.sweep.worker import TrialTrainable

    class Empty(TrialTrainable):
        def step(self) -> dict[str, object]:
            return {"epoch": 0, "done": True}

    if not real:
        controller.TrialTrainable = Empty
    plan = replace(_plan(count, open_benchmark("glyphs", GLYPHS, None)), resources=Resources(gpu=0))
    folder = Path(tempfile.mkdtemp())
    notes = Notes()

    def event(kind: str, *_: object) -> None:
        if kind == "ended":
            notes.ended()

    experiment = Experiment(event, folder)
    experiment.run(Job(folder, plan, tuple(plan.specs)))
    print(json.dumps(notes.numbers()))


def _plain(count: int, _: bool) -> None:
    from ray import tune

    class Empty(tune.Trainable):
        def step(self) -> dict[str, object]:
            return {"epoch": 0, "done": True}

        def reset_config(self, new_config: object) -> bool:
            return True

    notes = Notes()

    class Following(tune.Callback):
        def on_trial_complete(self, *_: object, **__: object) -> None:
            notes.ended()

        def __getstate__(self) -> dict[str, object]:
            return {}

    tune.Tuner(
        tune.with_resources(Empty, {"CPU": 1}),
        param_space={"trial": tune.grid_search([*range(count)])},
        tune_config=tune.TuneConfig(reuse_actors=True),
        run_config=tune.RunConfig(
            storage_path=tempfile.mkdtemp(),
            verbose=0,
            callbacks=[Following()],
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
        ),
    ).fit()
    print(json.dumps(notes.numbers()))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _plan(count: int, benchmark: Benchmark) -> Plan:
    shape, tasks = Episode(way=2, shot=1, query=1), Tasks(selection_tasks=2, report_tasks=2)
    main = PlannedProtocol(MAIN, Protocol(episode=shape, tasks=tasks))
    plan = Plan(
        name="made",
        sweep="0" * 16,
        fingerprint=None,
        protocols=(main,),
        selectors=Selectors(),
        parts={},
        trials=tuple(
            PlannedTrial(s.id, "PN", configuration_of(s.canonical()), {}, s) for s in _specs(count)
        ),
    )
    return plan.on({MAIN: benchmark.fingerprint})


def _specs(count: int) -> list[TrialSpec]:
    return [
        TrialSpec.model_validate(
            {
                "benchmark": {"name": "glyphs", **GLYPHS},
                "learner": {"name": "protonet"},
                "backbone": {"name": "identity"},
                "optimizer": {"lr": 0.1},
                "schedule": [[0, 0.1]],
                "epochs": 1,
                "batches": 1,
                "augment": "none",
                "precision": "fp32",
                "train": {"way": 2, "shot": 1, "query": 1, "tasks_per_batch": 1},
                "budget": None,
                "seed": seed,
            },
            strict=False,
        )
        for seed in range(count)
    ]


def _alone(count: int) -> float:
    benchmark = open_benchmark("glyphs", GLYPHS, None)
    plan = _plan(count, benchmark)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        for trial, spec in plan.specs.items():
            for _ in Trial(spec, Ledger(Path(folder)).trial(trial), benchmark, plan.main).run():
                pass
        return (time.perf_counter() - start) / count


if __name__ == "__main__":
    if "--way" in sys.argv:
        one_way(sys.argv[-2], int(sys.argv[-1]))
    else:
        main()
