"""Measuring a snapshot beside easyfsl: the same tasks, weights and images, prototypical networks.

Targets at 10,000 tasks (5-way 5-shot, 15 queries; 12,000 images of 28x28 pixels, conv4-64),
embedding included, on one thread: 2.7 times as fast as easyfsl's path over features, 90 times as
its path over images, and as many right answers in each task.

Runs in an environment of easyfsl's own, which needs the requirements of this package except Ray:
``TQDM_DISABLE=1 PYTHONPATH=src PATH_TO_ITS_PYTHON -m benchmarks.easyfsl_peer``. easyfsl
gets normalised images in memory, and the images of each task as lists; what it takes to make these
is not timed. Our time contains gathering and normalising. easyfsl is timed with conv4 as it is
usually written, and with ours.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from benchmarks.evaluation import CLASSES, CPU, EXAMPLES, SHAPE, WIDTH, pictures, pools
from benchmarks.timing import hardware
from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.learners.backbones.conv4 import Conv4
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.building import build_learner
from fsl_sweep.orchestrator.measuring.common_tasks import CommonTasks
from fsl_sweep.orchestrator.measuring.evaluator import Evaluator
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.measures import ScoreKey
from fsl_sweep.orchestrator.records.protocol import MAIN, Episode, Protocol, Tasks

load_torchvision()  # easyfsl imports it

from easyfsl.datasets import FeaturesDataset  # noqa: E402
from easyfsl.methods import PrototypicalNetworks  # noqa: E402
from easyfsl.samplers import TaskSampler  # noqa: E402
from easyfsl.utils import evaluate_on_one_task, predict_embeddings  # noqa: E402

TASKS, ROUNDS = 10_000, 3
SAMPLE = 100  # of these tasks pass over images; their time is scaled
Candidate = Callable[[], np.ndarray]
Counts = dict[str, np.ndarray]
EPISODE, QUERIES = Episode(way=5, shot=5, query=15), 75
KEY: ScoreKey = ("novel", "report")
NOISE = 0.25  # three quarters of the answers are right
BATCH = 128  # of easyfsl's notebook on features


class OurTasks(TaskSampler):
    """easyfsl's collation, with given episodes in place of its own draw.

    Its constructor, which indexes the examples by class, does not run under torch 2.13.
    """

    def __init__(self, episodes: Episodes) -> None:
        self.n_tasks, self.n_way, self.n_shot = episodes.support.shape
        self.n_query = episodes.query.shape[2]
        images = np.concatenate([episodes.support, episodes.query], axis=2)
        self._images = images.reshape(self.n_tasks, -1).tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self._images)


def answered(network: nn.Module, examples: FeaturesDataset, episodes: Episodes) -> np.ndarray:
    """Right answers of each task, as ``easyfsl.utils.evaluate`` finds them."""
    tasks = OurTasks(episodes)
    loader = DataLoader(examples, batch_sampler=tasks, collate_fn=tasks.episodic_collate_fn)
    model = PrototypicalNetworks(network).eval()
    with torch.no_grad():
        return np.array([evaluate_on_one_task(model, *task[:4])[0] for task in loader])


def by_features(network: nn.Module, images: FeaturesDataset, episodes: Episodes) -> np.ndarray:
    """Embeds each image once, as easyfsl's notebook does."""
    features = predict_embeddings(DataLoader(images, BATCH), network)
    return answered(nn.Identity(), FeaturesDataset.from_dataframe(features), episodes)


def usual(backbone: Conv4) -> nn.Module:
    """The same weights in the usual order and layout."""
    parts = [(block[0], block[1], nn.ReLU(), nn.MaxPool2d(2)) for block in backbone.blocks]
    return nn.Sequential(*(layer for part in parts for layer in part), nn.Flatten()).eval()


def timed(candidates: Mapping[str, Candidate]) -> tuple[dict[str, list[float]], Counts]:
    """Medians of seconds of the processor and of the clock, in turn; the counts that were found."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in candidates}
    counts: Counts = {}
    for _ in range(ROUNDS):
        for name, candidate in candidates.items():
            start = time.process_time(), time.perf_counter()
            counts[name] = candidate()
            seconds[name].append((time.process_time() - start[0], time.perf_counter() - start[1]))
    medians = {
        name: [statistics.median(clock) for clock in zip(*measured, strict=True)]
        for name, measured in seconds.items()
    }
    return medians, counts


def common_tasks(benchmark: Benchmark) -> CommonTasks:
    """``TASKS`` tasks of one pool."""
    tasks = Tasks(selection_tasks=2, report_tasks=TASKS)
    every = CommonTasks.draw(benchmark, Protocol(episode=EPISODE, tasks=tasks))
    return replace(every, episodes={KEY: every.episodes[KEY]})


def table(candidates: Mapping[str, Candidate]) -> None:
    """Times all, and compares the counts of each task with those of the first."""
    seconds, counts = timed(candidates)
    own, right = (next(iter(each.values())) for each in (seconds, counts))
    print(f"{right.mean():.1f} of {QUERIES} answers to a task are right\n")
    print("| what | s of the processor | x | s of the clock | x | counts that differ |")
    print("|---|---|---|---|---|---|")
    for name, measured in seconds.items():
        tasks = len(counts[name])
        whole = [TASKS / tasks * each for each in measured]
        cells = [f"{s:.2f} | {s / o:.2f}" for s, o in zip(whole, own, strict=True)]
        differ = np.count_nonzero(counts[name] != right[:tasks])
        print(f"| {name} | {' | '.join(cells)} | {differ} of {tasks} |")


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print(f"easyfsl {version('easyfsl')}, {hardware()}, 1 thread, {ROUNDS} rounds")
    print(f"conv4-{WIDTH}, 28x28, {CLASSES * EXAMPLES} images, {TASKS} tasks; ", end="")
    benchmark = pools(SHAPE, partial(pictures, noise=NOISE))
    learner = build_learner({"name": "protonet"}, {"name": "conv4"}, SHAPE, 100, 0).eval()
    assert isinstance(learner, EmbeddingLearner)
    assert isinstance(learner.backbone, Conv4)
    tasks, pool = common_tasks(benchmark), benchmark.novel.pool
    evaluator = Evaluator(benchmark, {MAIN: tasks}, CPU)
    normalised = PoolImages(pool, benchmark, CPU).ready(np.arange(len(pool)))
    images = FeaturesDataset(pool.labels.tolist(), normalised, list(pool.class_names))
    episodes = tasks.episodes[KEY]
    candidates = {"ours": lambda: evaluator.measure(learner)[MAIN][KEY].correct}
    for name, net in {"usual": usual(learner.backbone), "our": learner.backbone}.items():
        candidates[f"features, {name} conv4"] = partial(by_features, net, images, episodes)
        candidates[f"images, {name} conv4"] = partial(answered, net, images, episodes[:SAMPLE])
    table(candidates)


if __name__ == "__main__":
    main()
