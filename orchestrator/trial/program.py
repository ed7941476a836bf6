"""One epoch of a program that trains itself: a round of ``meta_fit`` on the trial's data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, VaryingShape
from fsl_sweep.learners.augmentation.catalogue import augmentation
from fsl_sweep.learners.metadl.meta_dataset import (
    Batch,
    Episode,
    MetaDataset,
    OnePass,
    Passes,
    challenge_images,
)
from fsl_sweep.learners.metadl.program import ProgramLearner
from fsl_sweep.orchestrator.errors import TrialFailure
from fsl_sweep.orchestrator.measuring.images import PoolImages
from fsl_sweep.orchestrator.records.spec import TrialSpec, episode_shape
from fsl_sweep.orchestrator.trial.draws import TrainingDraws
from fsl_sweep.orchestrator.trial.randomness import generator, torch_seed

Check = Callable[[int], None]


class ProgramTraining:
    """Gives a program each epoch's data, which depends only on trial id and epoch.

    Args:
        spec: the trial.
        benchmark: where training tasks come from.
        learner: the program.
        device: where images are augmented.
    """

    def __init__(
        self, spec: TrialSpec, benchmark: Benchmark, learner: ProgramLearner, device: torch.device
    ) -> None:
        self.spec, self.benchmark, self.learner = spec, benchmark, learner
        self.device = device
        self._augment = augmentation(spec.augment)
        self._images = PoolImages(benchmark.train.pool, benchmark, device)
        self._augment_support = spec.episodic is None or spec.episodic.augment_support
        self._draws = TrainingDraws(spec, benchmark)

    def epoch(self, epoch: int, check: Check) -> None:
        """Let the program train on the epoch's data.

        Args:
            epoch: from 1.
            check: called with the number of each step before the program gets its data; what it
                raises ends the epoch, even if the program catches it.

        Raises:
            TrialFailure: the program failed.
        """
        stop: list[Exception] = []

        def checked(step: int) -> None:
            try:
                check(step)
            except Exception as reason:
                stop.append(reason)
                raise

        try:
            self.learner.meta_train(
                self._data(epoch, checked), torch_seed(self.spec.id, "program", epoch)
            )
        except TrialFailure:
            if not stop:
                raise
        if stop:
            raise stop[0]

    def state(self) -> dict[str, Any] | None:
        """All that the program needs to continue; None if it cannot."""
        state = self.learner.training_state()
        return None if state is None else {"program": state}

    def restore(self, state: dict[str, Any]) -> None:
        """The inverse of ``state``.

        Raises:
            ValueError: it is not the state of a program.
            TrialFailure: the program failed to load it.
        """
        saved = state.get("program")
        if not isinstance(saved, torch.Tensor) or saved.dtype != torch.uint8 or saved.ndim != 1:
            raise ValueError("the state is not that of a program")
        self.learner.restore_training(saved)

    def _data(self, epoch: int, check: Check) -> MetaDataset:
        channels, height, width = self.benchmark.image_shape
        valid = episode_shape(self.spec.episode)
        rng = generator(self.spec.id, "program validation", epoch)
        return MetaDataset(
            meta_train_pipeline=OnePass(self._training(epoch, check)),
            meta_valid_pipeline=Passes(lambda: self._validation(valid, rng)),
            mode="batch" if self.spec.episodic is None else "episode",
            n_classes=len(self.benchmark.train.classes),
            image_shape=(height, width, channels),
        )

    def _training(self, epoch: int, check: Check) -> Iterator[tuple[Episode | Batch, int]]:
        draws = torch.Generator(device=self.device)
        draws.manual_seed(torch_seed(self.spec.id, "augmentation", epoch))
        for step, drawn in enumerate(self._draws.epoch(epoch), start=1):
            check(step)
            if isinstance(drawn, Episodes):
                for task in range(len(drawn)):
                    yield self._episode(drawn[task : task + 1], draws), 0
            else:
                images = self._images.augmented(drawn.examples, self._augment, draws)
                yield Batch(challenge_images(images), drawn.labels), 0

    def _validation(
        self, shape: EpisodeShape | VaryingShape, rng: np.random.Generator
    ) -> Iterator[tuple[Episode, int]]:
        """As many episodes as an epoch has steps, without augmentation."""
        for _ in range(self.spec.batches):
            yield self._episode(self.benchmark.train.sample(1, shape, rng), None), 0

    def _episode(self, drawn: Episodes, draws: torch.Generator | None) -> Episode:
        _, way, shot = drawn.support.shape
        query = drawn.query.shape[2]
        indices = np.concatenate([drawn.support.ravel(), drawn.query.ravel()])
        if draws is None:
            unit = self._images.unit(indices)
        else:
            kept = 0 if self._augment_support else way * shot
            unit = self._images.augmented(indices, self._augment, draws, kept)
        images = challenge_images(unit)
        labels = np.arange(way)
        classes = np.searchsorted(self.benchmark.train.classes, drawn.classes[0])
        return Episode(
            images[: way * shot],
            labels.repeat(shot),
            classes.repeat(shot),
            images[way * shot :],
            labels.repeat(query),
            classes.repeat(query),
        )
