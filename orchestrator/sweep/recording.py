"""What a run folder is given before trials run: its lock, common tasks, this machine."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.orchestrator.errors import FslSweepError
from fsl_sweep.orchestrator.ledger.ledger import Ledger, tasks_folder
from fsl_sweep.orchestrator.ledger.lock import run_lock
from fsl_sweep.orchestrator.records.plan import Plan
from fsl_sweep.orchestrator.records.protocol import MAIN, PlannedProtocol
from fsl_sweep.orchestrator.sweep.environment import environment


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
    from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks

    for one in protocols:
        for fold in (None, *(plan.folds if one.snapshots == "all" else ())):
            prefix, benchmark = "", benchmarks[MAIN]
            if fold is not None:
                prefix, benchmark = (
                    f"fold-{fold.index}-",
                    fold_benchmark(benchmark, **fold.model_dump()),
                )
            drawn = CommonTasks.draw(benchmark, one.protocol, benchmarks.get(one.name))
            for (measure, task_set), episodes in drawn.episodes.items():
                content = {
                    "fingerprint": benchmark.fingerprint,
                    "protocol": one.protocol.canonical(),
                    "classes": episodes.classes.tolist(),
                }
                name = f"{tasks_folder(one.id)}/{prefix}{measure}-{task_set}.json"
                if ledger.read_note(name) != content:
                    ledger.write_note(name, content)


def note_environment(ledger: Ledger) -> None:
    """Add this machine to ``environment.json`` unless it is listed there."""
    noted, here = ledger.read_note("environment.json") or {}, environment()
    machines = noted.get("machines", [])
    if here not in machines:
        ledger.write_note("environment.json", {"machines": [*machines, here]})
