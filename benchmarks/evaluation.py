"""Measuring a snapshot: what it costs beside embedding its pools once, and what the sizes decide.

Targets on one thread of a CPU, for conv4 with 64 filters on 28x28 images: embedding runs at 85 % or
more of the machine's matrix rate; measuring three pools of 12,000 images by 1,000 tasks for each of
six sets (5-way 5-shot, 15 queries) costs at most 1.10 times embedding them once, 1.3 times with
PT-MAP. The sizes of `measuring.images.at_once` are compared with those that a GPU gets.

Times are of the processor, not of the clock on the wall: other work on the machine then counts by
no more than what it takes of caches and memory.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch

from benchmarks.timing import hardware, medians
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.learners.at_once import AtOnce, at_once
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.orchestrator.measuring import images
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.measures import MEASURES
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode, Protocol

CPU = torch.device("cpu")
SHAPE, WIDTH = (1, 28, 28), 64
SIZES = {"cpu": at_once(CPU, SHAPE), "gpu": at_once(torch.device("cuda"), SHAPE)}
MATRIX = 1024
CLASSES, EXAMPLES = 200, 60  # of a pool
ENCODERS = {"metadelta": 4}  # images pass through each
HEADS = [n for n in LEARNERS.names() if issubclass(LEARNERS.find(n).cls, EmbeddingLearner)]


@contextmanager
def sizes(chosen: AtOnce) -> Iterator[None]:
    """Measures by these sizes for the length of the block."""
    images.at_once = lambda *_: chosen
    yield
    images.at_once = at_once


def pools(
    shape: tuple[int, int, int], draw: Callable[[np.random.Generator], np.ndarray]
) -> Benchmark:
    """Train, base, val and novel, from a pool each of ``CLASSES`` times ``EXAMPLES`` examples."""
    index = np.arange(CLASSES * EXAMPLES).reshape(CLASSES, EXAMPLES)
    labels, names = np.repeat(np.arange(CLASSES), EXAMPLES), tuple(map(str, range(CLASSES)))
    drawn = [draw(np.random.default_rng(seed)).reshape(-1, *shape) for seed in range(4)]
    made = [ImagePool(one, labels, names, f"made {n}") for n, one in enumerate(drawn)]
    parts = [ClassTasks(pool, np.arange(CLASSES), index.ravel()) for pool in made]
    return Benchmark.of("made", **dict(zip(("train", *MEASURES), parts, strict=True)))


def pictures(rng: np.random.Generator, noise: float = 1) -> np.ndarray:
    """Noisy prototypes, uint8."""
    prototypes = rng.random((CLASSES, 1, *SHAPE))
    drawn = prototypes + noise * rng.standard_normal((CLASSES, EXAMPLES, *SHAPE))
    return (np.clip(drawn, 0, 1) * 255).astype(np.uint8)


def features(rng: np.random.Generator) -> np.ndarray:
    """Rectified Gaussians around a centre for each class, as after a ReLU."""
    centres = rng.standard_normal((CLASSES, 1, WIDTH)) / 2
    noise = rng.standard_normal((CLASSES, EXAMPLES, WIDTH))
    return np.maximum(centres + noise, 0).astype(np.float32)


def flops() -> float:
    """Of the convolutions, for an image."""
    channels, side, total = SHAPE[0], SHAPE[1], 0
    for _ in range(4):
        total += 2 * 9 * channels * WIDTH * side**2
        channels, side = WIDTH, side // 2
    return total


def measuring(
    name: str, backbone: str, benchmark: Benchmark, chosen: AtOnce
) -> Callable[[], object]:
    """Measures a learner on all six task sets."""
    protocol = Protocol(episode=Episode(way=5, shot=5, query=15))
    tasks = CommonTasks.draw(benchmark, protocol)
    learner = build_learner({"name": name}, {"name": backbone}, benchmark.image_shape, 100, 0)
    with sizes(chosen):
        evaluator = Evaluator(benchmark, {MAIN: tasks}, CPU)
    return partial(evaluator.measure, learner)


def embedding(benchmark: Benchmark, chosen: AtOnce, count: int) -> Callable[[], object]:
    """Embeds the first ``count`` images of each pool."""
    learner = build_learner({"name": "protonet"}, {"name": "conv4"}, SHAPE, 100, 0).eval()
    assert isinstance(learner, EmbeddingLearner)
    with sizes(chosen):
        each = [PoolImages(benchmark.distribution(m).pool, benchmark, CPU) for m in MEASURES]

    def embed() -> None:
        with torch.inference_mode():
            for pool in each:
                pool.through(learner.embed, np.arange(count))

    return embed


def compare_rates(benchmark: Benchmark, runs: int) -> None:
    """Embedding against a product of two matrices."""
    a, b = torch.randn(2, MATRIX, MATRIX)
    count = 1024
    candidates = {name: embedding(benchmark, size, count) for name, size in SIZES.items()}
    seconds = medians({"matrix": lambda: a @ b, **candidates}, runs, time.process_time)
    matrix = 2 * MATRIX**3 / seconds["matrix"] / 1e9
    print("| what | GFLOP/s | share |\n|---|---|---|")
    print(f"| product of {MATRIX} x {MATRIX} matrices | {matrix:.1f} | 1 |")
    for name, size in SIZES.items():
        rate = 3 * count * flops() / seconds[name] / 1e9
        print(f"| embedding in chunks of {size.images} | {rate:.1f} | {rate / matrix:.2f} |")


def compare_heads(embed_once: float, runs: int) -> None:
    """Each head on features that are there already, in blocks of both sizes."""
    benchmark = pools((WIDTH, 1, 1), features)
    usual = at_once(CPU, benchmark.image_shape)
    both = {"cpu": usual, "gpu": dataclasses.replace(usual, floats=SIZES["gpu"].floats)}
    print("\n| head | ms a task | in the GPU's blocks | ratio | measuring / embedding once |")
    print("|---|---|---|---|---|")
    for name in HEADS:
        candidates = {k: measuring(name, "identity", benchmark, size) for k, size in both.items()}
        seconds = medians(candidates, runs, time.process_time)
        cpu, gpu = (1e3 * seconds[key] / 6000 for key in ("cpu", "gpu"))
        whole = 1 + seconds["cpu"] / (embed_once * ENCODERS.get(name, 1))
        print(f"| {name} | {cpu:.3f} | {gpu:.3f} | {cpu / gpu:.2f} | {whole:.3f} |", flush=True)


def main(runs: int = 3) -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    print(f"evaluation: conv4-{WIDTH}, 28x28, {hardware()}, 1 thread\n")
    benchmark = pools(SHAPE, pictures)
    compare_rates(benchmark, 3 * runs)
    candidates = {
        "embed": embedding(benchmark, SIZES["cpu"], CLASSES * EXAMPLES),
        **{key: measuring("protonet", "conv4", benchmark, size) for key, size in SIZES.items()},
    }
    seconds = medians(candidates, runs, time.process_time)
    print(f"\nmeasuring protonet {seconds['cpu']:.2f} s; ", end="")
    print(f"{seconds['cpu'] / seconds['gpu']:.2f} x that by the GPU's sizes, ", end="")
    print(f"{seconds['cpu'] / seconds['embed']:.3f} x embedding the pools once")
    compare_heads(seconds["embed"], runs)


if __name__ == "__main__":
    main()
