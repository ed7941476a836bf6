"""Trials of a frozen backbone: all of them beside embedding their pools once.

Target: 3 methods x 4 seeds x 2 protocols cost at most 1.15 times one pass of the pools through the
backbone, and what all else takes: the same trials on features that are there already (benchmark
`features`, backbone `identity`). Measured whole, as in a worker: tasks are drawn, learners built,
snapshots written, read and checked, results recorded. Each starts with no features kept. Times are
of the processor, as in `benchmarks.evaluation`: ``python -m benchmarks.frozen [ROUNDS]``.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from safetensors.torch import save_file

from benchmarks.evaluation import CPU, SHAPE, WIDTH, pictures, pools
from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.store.features import LIMIT, clear
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.building import build_backbone
from fsl_sweep.orchestrator.ledger.ledger import Ledger
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.measuring.snapshots import Measuring
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.model import Named
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode, PlannedProtocol, Protocol
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.trial.trial import Trial

METHODS, SEEDS, ROUNDS = ("ncc", "protonet", "transfer"), range(4), 3
PROTOCOLS = {
    MAIN: Protocol(episode=Episode(way=5, shot=1, query=15)),
    "5-shot": Protocol(episode=Episode(way=5, shot=5, query=15)),
}


def specs(backbone: Named) -> list[TrialSpec]:
    """Trials that train nothing."""
    return [
        TrialSpec(
            benchmark=Named(name="made"),
            learner=Named(name=name),
            backbone=backbone,
            optimizer=None,
            schedule=[],
            epochs=1,
            batches=0,
            augment="none",
            precision="fp32",
            train=None,
            budget=None,
            seed=seed,
        )
        for name in METHODS
        for seed in SEEDS
    ]


def measure(trials: list[TrialSpec], benchmark: Benchmark, limit: str) -> list[bytes]:
    """Run trials, and measure them under the other protocol; their results."""
    os.environ[LIMIT] = limit
    clear()
    main, other = (
        PlannedProtocol(name, protocol, fingerprint=benchmark.fingerprint)
        for name, protocol in PROTOCOLS.items()
    )
    measured: list[bytes] = []
    with tempfile.TemporaryDirectory() as folder:
        for spec in trials:
            storage = Ledger(Path(folder)).trial(spec.id)
            for record in Trial(spec, storage, benchmark, main, device=CPU).run():
                measured += [scores.accuracy.tobytes() for scores in record.scores.values()]
            for _ in Measuring(spec, storage, {MAIN: benchmark}, {1: [other]}, CPU).run():
                pass
            table = storage.folder.path / "measured" / f"{other.id}.parquet"
            measured.append(table.read_bytes())
    return measured


def of_features(benchmark: Benchmark, backbone: Backbone) -> Benchmark:
    """The same tasks on the features of the same images."""
    parts: list[ClassTasks] = []
    for name in MEASURES:
        tasks = benchmark.distribution(name)
        assert isinstance(tasks, ClassTasks)
        pool, images = tasks.pool, PoolImages(tasks.pool, benchmark, CPU)
        with torch.inference_mode():
            features = images.through(backbone, np.arange(len(pool))).numpy()[:, :, None, None]
        held = ImagePool(features, pool.labels, pool.class_names, f"features of {name}")
        parts.append(ClassTasks(held, tasks.classes, tasks.examples))
    return Benchmark.of("made of features", parts[0], *parts, fresh_base=False)


def seconds(candidate: Callable[[], object]) -> float:
    """Of the processor."""
    start = time.process_time()
    candidate()
    return time.process_time() - start


def main(rounds: int = ROUNDS) -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"frozen: conv4-{WIDTH}, 28x28, {hardware()}, 1 thread, {rounds} rounds\n")
    benchmark = pools(SHAPE, pictures)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FSL_SWEEP_HOME"] = folder
        drawn, _ = build_backbone({"name": "conv4"}, benchmark.image_shape)
        save_file(drawn.state_dict(), weights := f"{folder}/conv4.safetensors")
        start = {"weights": weights, "frozen": True}
        backbone, _ = build_backbone({"name": "conv4", **start}, benchmark.image_shape)
        trials = specs(Named.model_validate({"name": "conv4", **start}))
        heads, features = specs(Named(name="identity")), of_features(benchmark, backbone)
        kept: list[bytes] = []
        candidates: dict[str, Callable[[], object]] = {
            "features kept": lambda: kept.extend(measure(trials, benchmark, "10")),
            "embedding once": lambda: of_features(benchmark, backbone),
            "heads and all else": lambda: measure(heads, features, "0"),
        }
        measured = [
            {name: seconds(each) for name, each in candidates.items()} for _ in range(rounds)
        ]
        results: list[bytes] = []
        without = seconds(lambda: results.extend(measure(trials[:1], benchmark, "0")))
    assert kept[: len(results)] == results, "the results differ"
    print("| what | s of the processor |\n|---|---|")
    for name in candidates:
        print(f"| {name} | {median(each[name] for each in measured):.1f} |")
    print(f"| one of {len(trials)} trials, nothing kept | {without:.1f} |")
    ratios = sorted(k / (once + rest) for k, once, rest in map(dict.values, measured))
    print(f"\nkept / (embedding once + the rest): {', '.join(f'{ratio:.3f}' for ratio in ratios)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
