"""Measuring a snapshot: embedding each image once, against embedding each episode for itself.

Targets: measuring costs at most 1.15 times embedding the pools once, and at 10,000 tasks at least
50 times less than embedding every episode anew, with identical predictions.
"""

import dataclasses

import numpy as np
import torch

from benchmarks.timing import hardware, medians
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks import ClassTasks
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.config import Episode, Evaluation
from fsl_sweep.orchestrator.evaluation import IMAGES_AT_ONCE, CommonTasks, Evaluator
from fsl_sweep.orchestrator.images import PoolImages

CPU = torch.device("cpu")
EPISODE = Episode(way=5, shot=5, query=15)


def main() -> None:
    """Print the ratios."""
    torch.set_num_threads(1)
    print(f"evaluation: conv4 (64), 28x28, pools of 12,000 images, 5w5s15q, {hardware()}, 1 thread")
    benchmark = pools(classes=300, examples=60)
    learner = build_learner(
        {"name": "protonet"}, {"name": "conv4"}, benchmark.image_shape, 100, 0
    ).eval()
    settings = Evaluation(selection_tasks=1000, report_tasks=1000)
    tasks = CommonTasks.draw(benchmark, EPISODE, settings)
    evaluator = Evaluator(benchmark, tasks, CPU)
    images = PoolImages(benchmark.novel.pool, benchmark, CPU)
    touched = np.unique(
        np.concatenate([a.ravel() for e in tasks.episodes.values() for a in (e.support, e.query)])
    )
    few = {
        key: dataclasses.replace(
            e, support=e.support[:20], query=e.query[:20], classes=e.classes[:20]
        )
        for key, e in tasks.episodes.items()
    }

    def embed_once() -> None:
        with torch.inference_mode():
            for start in range(0, len(touched), IMAGES_AT_ONCE):
                chosen = touched[start : start + IMAGES_AT_ONCE]
                learner.embed(images.normalised(images.unit(chosen)))

    def each_episode() -> None:
        with torch.inference_mode():
            for episodes in few.values():
                for task in range(len(episodes)):
                    index = np.concatenate([episodes.support[task], episodes.query[task]], axis=1)
                    learner.embed(images.normalised(images.unit(index.ravel())))

    seconds = medians(
        {
            "measure": lambda: evaluator.measure(learner),
            "embed once": embed_once,
            "each episode": each_episode,
        },
        runs=3,
    )
    per_task = seconds["each episode"] / (20 * len(few))
    ratio = seconds["measure"] / seconds["embed once"]
    print(
        f"  measuring {seconds['measure']:.2f} s, embedding {len(touched):,} images once ", end=""
    )
    print(f"{seconds['embed once']:.2f} s: ratio {ratio:.3f}")
    at_10_000 = per_task * 10_000 * len(few)
    large = Evaluation(selection_tasks=10_000, report_tasks=10_000)
    many = Evaluator(benchmark, CommonTasks.draw(benchmark, EPISODE, large), CPU)
    slow = medians({"measure": lambda: many.measure(learner)}, runs=1)["measure"]
    print(
        f"  at 10,000 tasks: {slow:.2f} s against {at_10_000:.0f} s (from 20 tasks a set): ", end=""
    )
    print(f"{at_10_000 / slow:.0f} times faster than embedding each episode")


def pools(classes: int, examples: int) -> Benchmark:
    """A benchmark of noise: a third of the classes each for base, val and novel."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (classes * examples, 1, 28, 28), dtype=np.uint8)
    pool = ImagePool(
        images=images,
        labels=np.repeat(np.arange(classes), examples),
        class_names=tuple(map(str, range(classes))),
        fingerprint="noise",
    )
    base, val, novel = np.split(np.arange(classes), 3)
    index = np.arange(classes * examples).reshape(classes, examples)
    return Benchmark.of(
        "noise",
        train=ClassTasks(pool, base, index[base, : examples // 2].ravel()),
        base=ClassTasks(pool, base, index[base, examples // 2 :].ravel()),
        val=ClassTasks(pool, val),
        novel=ClassTasks(pool, novel),
    )


if __name__ == "__main__":
    main()
