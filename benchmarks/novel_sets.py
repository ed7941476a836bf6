"""Conclusion flips: three paths to the answers of two snapshots on random novel sets.

Target: 100 sets of 20 of 120 classes, 20,000 tasks each, two snapshots, within 3 minutes on 2
cores. The paths agree task by task (``tests``); here their cost a task is compared, on sets small
and large, in time of the processor. The last column is time by the clock, with both snapshots at
work on the same tasks: ``python -m benchmarks.novel_sets`` on a quiet machine.
"""

import time

import numpy as np
import torch

from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.episodes import EpisodeShape
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.measuring.class_sets import AnswerPath, ClassSets, ClassSetScorer
from fsl_sweep.orchestrator.measuring.images import PoolImages

CLASSES, SIZE, SETS, TASKS = 120, 20, 100, 20_000
FEATURES = 64
PATHS: dict[AnswerPath, int] = {"gram": TASKS, "features": TASKS, "direct": 2000}


def drawn(examples: int, shot: int) -> tuple[ClassSets, Benchmark]:
    """Classes of noise: no answer matters."""
    images = np.random.default_rng(0).integers(0, 256, (CLASSES * examples, 1, 28, 28), np.uint8)
    labels, names = np.repeat(np.arange(CLASSES), examples), [str(c) for c in range(CLASSES)]
    whole = ClassTasks(ImagePool(images, labels, tuple(names), f"{examples}"), np.arange(CLASSES))
    data = Benchmark.of("noise", whole, whole, whole, whole, fresh_base=False)
    return ClassSets(whole, EpisodeShape(5, shot, 15)), data


def scorer(name: str, sets: ClassSets, data: Benchmark) -> ClassSetScorer:
    """Of an untrained learner."""
    backbone = {"name": "conv4", "width": FEATURES}
    learner = build_learner({"name": name}, backbone, data.image_shape, CLASSES, 0).eval()
    images = PoolImages(sets.whole.pool, data, torch.device("cpu"))
    return ClassSetScorer(learner, images, sets.whole.examples, data.train.classes)


def microseconds(sets: ClassSets, one: ClassSetScorer, path: AnswerPath, tasks: int) -> float:
    """Of one task: drawing it, its part of the matrix, and its answers."""
    start = time.process_time()
    sets.accuracies([one], sets.novel_sets(SIZE, 1), tasks, path=path)
    return 1e6 * (time.process_time() - start) / tasks


def compare(examples: int, shot: int) -> None:
    """Print the rows of one class set."""
    sets, data = drawn(examples, shot)
    for name in ("protonet", "ridge"):
        one = scorer(name, sets, data)
        taken = (microseconds(sets, one, path, tasks) for path, tasks in PATHS.items())
        shown = " | ".join(f"{each:.1f}" for each in taken)
        chosen = one.cheapest(SIZE * examples, TASKS, sets.shape)
        start = time.perf_counter()
        sets.accuracies([one, one], sets.novel_sets(SIZE, 2), TASKS)
        minutes = SETS / 2 * (time.perf_counter() - start) / 60
        print(f"| {examples} | {shot} | {name} | {shown} | {chosen} | {minutes:.1f} |")


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"novel sets: {SIZE} of {CLASSES} classes, 5-way, {FEATURES} features, {hardware()}\n")
    print(f"| examples | shot | learner | {' | '.join(PATHS)} | chosen | min, {SETS} sets x 2 |")
    print("|---|---|---|---|---|---|---|---|")
    for examples in (20, 100, 600):
        for shot in (1, 5):
            compare(examples, shot)


if __name__ == "__main__":
    main()
