"""Further protocols of recorded snapshots: what they cost beside embedding their pools once.

Target: heads only. No image is embedded twice for a snapshot, whatever the number of protocols.
Measured whole, as in a worker: tasks are drawn, snapshots read and checked, results recorded. Each
protocol is also measured on its own, as if it were asked for later than the others. Times are of
the processor, as in `benchmarks.evaluation`: ``python -m benchmarks.protocols [SNAPSHOTS]``.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from benchmarks.evaluation import CLASSES, CPU, EXAMPLES, WIDTH, pictures
from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.snapshot import restored
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import (
    MAIN,
    Episode,
    PlannedProtocol,
    Protocol,
    Tasks,
)
from fsl_sweep.orchestrator.records.spec import EpisodicTraining, Optimizer, TrialSpec
from fsl_sweep.orchestrator.trial.trial import Trial

OTHER = "other classes"
FURTHER = {
    "5-shot": Protocol(episode=Episode(way=5, shot=5, query=15)),
    "10,000 report tasks": Protocol(tasks=Tasks(report_tasks=10_000)),
    "mixture 0.25": Protocol(mixture=0.25),
    "mixture 0.75": Protocol(mixture=0.75),
    OTHER: Protocol(benchmark=Named(name="other")),
}
LEARNERS = ("protonet", "ridge", "svm")
FULL = 100  # snapshots


def pool_of(seeds: Sequence[int]) -> ImagePool:
    """``CLASSES`` classes of pictures for each seed."""
    images = np.concatenate([pictures(np.random.default_rng(seed)) for seed in seeds])
    classes = len(images)
    labels, names = np.repeat(np.arange(classes), EXAMPLES), tuple(map(str, range(classes)))
    return ImagePool(images.reshape(-1, *images.shape[2:]), labels, names, f"made {seeds}")


def opened() -> dict[str, Benchmark]:
    """Base, val and novel classes in one pool, as most data sets have them, and another's."""
    pool, thirds = pool_of([0, 1, 2]), np.arange(3 * CLASSES).reshape(3, CLASSES)
    train, other = (ClassTasks(pool_of([seed]), np.arange(CLASSES)) for seed in (3, 4))
    base, val, novel = (ClassTasks(pool, classes) for classes in thirds)
    return {
        MAIN: Benchmark.of("made", train, base, val, novel),
        OTHER: Benchmark.of("other", train, base, val, other),
    }


@dataclass(frozen=True)
class Trained:
    """A trial that hardly trained, in a run folder.

    Attributes:
        path: the run folder.
        benchmarks: as `opened`.
    """

    spec: TrialSpec
    path: Path
    benchmarks: Mapping[str, Benchmark]

    @classmethod
    def run(
        cls, learner: str, snapshots: int, path: Path, benchmarks: Mapping[str, Benchmark]
    ) -> "Trained":
        """Train it, with so many snapshots."""
        spec = TrialSpec(
            benchmark=Named(name="made"),
            learner=Named(name=learner),
            backbone=Named(name="conv4", **{"width": WIDTH}),
            optimizer=Optimizer(lr=0.01),
            schedule=[(0, 0.01)],
            epochs=snapshots,
            batches=1,
            augment="none",
            precision="fp32",
            train=EpisodicTraining(shot=1, query=1, tasks_per_batch=1),
            budget=None,
            seed=0,
        )
        few = Protocol(tasks=Tasks(selection_tasks=2, report_tasks=2))
        main = PlannedProtocol(MAIN, few, fingerprint=benchmarks[MAIN].fingerprint)
        for _ in Trial(spec, Ledger(path).trial(spec.id), benchmarks[MAIN], main).run():
            pass
        return cls(spec, path, benchmarks)

    def measure(self, names: Iterable[str]) -> None:
        """Every snapshot under these protocols, in a copy of the run folder."""
        fingerprint = self.benchmarks[MAIN].fingerprint  # it names files, and nothing else
        asked = [PlannedProtocol(n, FURTHER[n], fingerprint=fingerprint) for n in names]
        with tempfile.TemporaryDirectory() as copy:
            shutil.copytree(self.path, copy, dirs_exist_ok=True)
            storage = Ledger(Path(copy)).trial(self.spec.id)
            todo = dict.fromkeys(storage.snapshot_epochs(), asked)
            for _ in Measuring(self.spec, storage, self.benchmarks, todo, CPU).run():
                pass

    def embed(self) -> None:
        """Every image of the pools through each snapshot, once."""
        storage, main = Ledger(self.path).trial(self.spec.id), self.benchmarks[MAIN]
        pools = [PoolImages(b.novel.pool, main, CPU) for b in self.benchmarks.values()]
        for epoch in storage.snapshot_epochs():
            learner, _ = restored(storage.check_snapshot(epoch).read_bytes(), "")
            assert isinstance(learner, EmbeddingLearner)
            with torch.inference_mode():
                for images in pools:
                    images.through(learner.embed, np.arange(len(images.pool.images)))

    def draw(self, names: Iterable[str]) -> None:
        """The tasks of these protocols, as once for a trial."""
        for name in names:
            CommonTasks.draw(self.benchmarks[MAIN], FURTHER[name], self.benchmarks.get(name))


def embedded(measure: Callable[[], None]) -> tuple[int, int]:
    """How many images pass through a network meanwhile, and how many of them differ."""
    passed: dict[str, list[np.ndarray]] = {}
    through = PoolImages.through

    def noted(pool: PoolImages, network: Callable[[Tensor], Tensor], indices: np.ndarray) -> Tensor:
        passed.setdefault(pool.pool.fingerprint, []).append(indices)
        return through(pool, network, indices)

    with patch.object(PoolImages, "through", noted):
        measure()
    pools = [np.concatenate(parts) for parts in passed.values()]
    return sum(map(len, pools)), sum(len(np.unique(pool)) for pool in pools)


def seconds(candidate: Callable[[], None]) -> float:
    """Of the processor."""
    start = time.process_time()
    candidate()
    return time.process_time() - start


def compare(learner: str, snapshots: int, benchmarks: Mapping[str, Benchmark]) -> None:
    """Print the table of one learner."""
    with tempfile.TemporaryDirectory() as folder:
        trained = Trained.run(learner, snapshots, Path(folder), benchmarks)
        images, different = embedded(lambda: trained.measure(FURTHER))
        once, drawing = seconds(trained.embed), seconds(lambda: trained.draw(FURTHER))
        together = seconds(lambda: trained.measure(FURTHER))
        alone = {name: seconds(lambda n=name: trained.measure([n])) for name in FURTHER}
        apart = sum(alone.values())
    print(f"\n## {learner}: {snapshots} snapshots\n\n| what | s a snapshot | / embedding once |")
    print("|---|---|---|")
    rows = {"embedding once": once, "all together": together, **alone, "their sum": apart}
    for name, spent in rows.items():
        print(f"| {name} | {spent / snapshots:.2f} | {spent / once:.3f} |")
    print(f"\n{images / snapshots:.0f} images a snapshot embedded together, of which", end=" ")
    print(
        f"{different} differ. Drawing all tasks takes {drawing:.2f} s a trial. So {FULL}", end=" "
    )
    full = drawing + FULL * (together - drawing) / snapshots
    print(f"snapshots take {full:.0f} s, {full / (FULL * once / snapshots):.3f} x embedding once.")


def main(snapshots: int = 3) -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"protocols: conv4-{WIDTH}, 28x28, {hardware()}, 1 thread")
    benchmarks = opened()
    for learner in LEARNERS:
        compare(learner, snapshots, benchmarks)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
