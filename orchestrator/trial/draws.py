"""What a trial draws: episodes or labelled examples, as pool indices, and their augmentation."""

import hashlib
from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.classes import ClassTasks
from fsl_sweep.datasets.tasks.distribution import TaskDistribution
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.fixed_support import FixedSupportTasks, QueriesFrom
from fsl_sweep.datasets.tasks.query_counts import MultinomialQueries
from fsl_sweep.datasets.tasks.training_steps import training_steps
from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.protocol import episode_shape
from fsl_sweep.orchestrator.records.spec import BatchTraining, TrialSpec, of_classes_only

Labelled = tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]
"""Examples of base classes: pool indices, and labels that count the base classes from 0."""


class TrainingDraws:
    """Draws each epoch's steps; they depend only on trial id and epoch."""

    def __init__(self, spec: TrialSpec, benchmark: Benchmark) -> None:
        self.spec = spec
        self._tasks = _training_tasks(spec, benchmark)

    def epoch(self, epoch: int) -> Iterator[Episodes] | Iterator[Labelled]:
        """Draw the tasks or examples of each of an epoch's ``batches`` steps; epochs are from 1."""
        rng = generator(self.spec.id, "batches", epoch)
        stage = self.spec.stage(epoch)
        if isinstance(stage, BatchTraining):
            return self._labelled(stage, rng)
        shape = episode_shape(stage)
        return training_steps(self._tasks, self.spec.batches, stage.tasks_per_batch, shape, rng)

    def _labelled(self, train: BatchTraining, rng: np.random.Generator) -> Iterator[Labelled]:
        examples = self._tasks.examples
        labels = np.unique(self._tasks.pool.labels[examples], return_inverse=True)[1]
        needed = self.spec.batches * train.batch_size
        rounds = -(-needed // len(examples))
        # Complete passes over the examples, one after the other, cut where the epoch ends.
        order = np.concatenate([rng.permutation(len(examples)) for _ in range(rounds)])[:needed]
        for rows in order.reshape(self.spec.batches, train.batch_size):
            yield examples[rows], labels[rows]


class TrainingImages(PoolImages):
    """The images that a trial trains on, augmented as its specification says."""

    def __init__(self, spec: TrialSpec, benchmark: Benchmark, device: torch.device) -> None:
        super().__init__(benchmark.train.pool, benchmark, device)
        self._trial, self._augment = spec.id, AUGMENTATIONS[spec.augment]
        self._plain_support = spec.episodic is not None and not spec.episodic.augment_support

    def draws(self, epoch: int) -> torch.Generator:
        """Return what the augmentation of an epoch is drawn from, on the device."""
        draws = torch.Generator(device=self.device)
        return draws.manual_seed(torch_seed(self._trial, "augmentation", epoch))

    def augmented(self, indices: np.ndarray, draws: torch.Generator, support: int = 0) -> Tensor:
        """Return images as `unit`, ``[n, C, H, W]``; the first ``support`` are of supports."""
        images = self.unit(indices)
        if support == 0 or not self._plain_support:
            return self._augment(images, draws)
        return torch.cat([images[:support], self._augment(images[support:], draws)])


def _training_tasks(spec: TrialSpec, benchmark: Benchmark) -> TaskDistribution:
    tasks, train = benchmark.train, spec.episodic
    if train is None or not of_classes_only(train):
        return tasks
    assert isinstance(tasks, ClassTasks)  # planning refuses others
    if train.fixed_support:
        tasks = fixed_support(spec.id, tasks, train.shot, train.queries_from)
    return tasks if train.query_counts == "equal" else MultinomialQueries(tasks)


def fixed_support(
    trial: str, tasks: ClassTasks, shot: int, queries_from: QueriesFrom
) -> FixedSupportTasks:
    """Return the tasks of base classes with the support that a FIX-ML trial trains on."""
    rng = generator(trial, "fixed support")
    return FixedSupportTasks(tasks, shot, rng, queries_from)


def seed_sequence(trial: str, purpose: str, epoch: int = 0) -> np.random.SeedSequence:
    """Return where a trial's random numbers come from: its id, a purpose, and an epoch.

    It depends on nothing else, so that a resumed trial draws what an uninterrupted one draws, and
    a new use of randomness does not change the others.
    """
    key = hashlib.sha256(f"{trial}/{purpose}".encode()).digest()
    return np.random.SeedSequence([*np.frombuffer(key, np.uint32).tolist(), epoch])


def generator(trial: str, purpose: str, epoch: int = 0) -> np.random.Generator:
    """Return a NumPy generator for one purpose in one epoch."""
    return np.random.default_rng(seed_sequence(trial, purpose, epoch))


def torch_seed(trial: str, purpose: str, epoch: int = 0) -> int:
    """Return a seed for a torch generator, in [0, 2^63)."""
    (word,) = seed_sequence(trial, purpose, epoch).generate_state(1, np.uint64)
    return int(word >> np.uint64(1))
