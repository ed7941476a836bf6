"""What a sweep costs beside its trials: many trials that do next to nothing, through Ray.

Target: at most 60 ms a trial.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.preparing.opening import open_benchmark
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.records.measures import EpochRecord, TrialEnd
from fsl_sweep.orchestrator.records.plan import Plan, PlannedTrial
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Episode,
    PlannedProtocol,
    Protocol,
    Tasks,
)
from fsl_sweep.orchestrator.records.spec import Selectors, TrialSpec, configuration_of
from fsl_sweep.orchestrator.sweep.process import Job, RayProcess
from fsl_sweep.orchestrator.sweepfile.grammar import Resources
from fsl_sweep.orchestrator.trial.trial import Trial, use_threads

GLYPHS = {
    "base_alphabets": 1,
    "val_alphabets": 1,
    "novel_alphabets": 1,
    "classes_per_alphabet": 2,
    "examples": 8,
    "image_size": 8,
}
TRIALS = 300


class _Clock:
    """Notes when trials end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def started(self, trial: str) -> None: ...

    def measured(self, trial: str, record: EpochRecord) -> None: ...

    def measured_again(self, trial: str, epoch: int) -> None: ...

    def failed_once(self, trial: str, reason: str) -> None: ...

    def ended(self, trial: str, end: TrialEnd) -> None:
        assert end.status == "done", end
        self.ends.append(time.perf_counter())


def main() -> None:
    """Print milliseconds a trial."""
    print(f"sweep overhead: {TRIALS} trials, {hardware()}")
    use_threads(1)
    clock = _through_ray(TRIALS)
    # From the first end to the last, so that starting Ray and its workers does not count.
    each = 1000 * (clock.ends[-1] - clock.ends[0]) / (TRIALS - 1)
    alone = 1000 * _alone(50)
    print(f"  a trial each {each:.0f} ms through Ray, on all cores; {alone:.0f} ms in one process")


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


def _through_ray(count: int) -> _Clock:
    benchmark, clock = open_benchmark("glyphs", GLYPHS, None), _Clock()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder))
        ledger.path.mkdir(parents=True, exist_ok=True)
        plan = replace(_plan(count, benchmark), resources=Resources(gpu=0.0))
        job = Job(ledger.path, plan, tuple(plan.specs))
        with RayProcess(trials=count) as ray:
            ray.run(job, [clock])
    return clock


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
    main()
