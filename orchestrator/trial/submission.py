"""One epoch of a submission that trains itself: a round of ``meta_fit`` on the trial's data."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes, EpisodeShape, VaryingShape
from fsl_sweep.learners.metadl.learner import Metadl
from fsl_sweep.learners.metadl.meta_dataset import (
    Batch,
    Episode,
    MetaDataset,
    OnePass,
    Passes,
    challenge_images,
)
from fsl_sweep.orchestrator.records.protocol import episode_shape
from fsl_sweep.orchestrator.records.spec import TrialSpec
from fsl_sweep.orchestrator.trial.draws import TrainingDraws, TrainingImages, generator, torch_seed

Check = Callable[[int], None]


class SubmissionTraining:
    """Gives a submission each epoch's data, which depends only on trial id and epoch."""

    def __init__(
        self, spec: TrialSpec, benchmark: Benchmark, learner: Metadl, device: torch.device
    ) -> None:
        self.spec, self.benchmark, self.learner = spec, benchmark, learner
        self._images = TrainingImages(spec, benchmark, device)
        self._draws = TrainingDraws(spec, benchmark)

    def epoch(self, epoch: int, check: Check) -> None:
        """Let it train; ``check`` is called with each step's number before its data."""
        self.learner.meta_train(
            self._data(epoch, check), torch_seed(self.spec.id, "program", epoch)
        )

    def state(self) -> dict[str, Any] | None:
        """Return all that the submission needs to continue; None if it cannot."""
        state = self.learner.training_state()
        return None if state is None else {"program": state}

    def restore(self, state: dict[str, Any]) -> None:
        """Load a ``state``; raises, perhaps halfway, if the submission cannot."""
        self.learner.restore_training(state["program"])

    def _data(self, epoch: int, check: Check) -> MetaDataset:
        channels, height, width = self.benchmark.image_shape
        assert self.spec.validation is not None  # planning sets it for every submission
        valid = episode_shape(self.spec.validation)
        rng = generator(self.spec.id, "program validation", epoch)
        return MetaDataset(
            meta_train_pipeline=OnePass(self._training(epoch, check)),
            meta_valid_pipeline=Passes(lambda: self._validation(valid, rng)),
            mode="batch" if self.spec.episodic is None else "episode",
            n_classes=len(self.benchmark.train.classes),
            image_shape=(height, width, channels),
        )

    def _training(self, epoch: int, check: Check) -> Iterator[tuple[Episode | Batch, int]]:
        draws = self._images.draws(epoch)
        for step, drawn in enumerate(self._draws.epoch(epoch), start=1):
            check(step)
            if isinstance(drawn, Episodes):
                for task in range(len(drawn)):
                    yield self._episode(drawn[task : task + 1], draws), 0
            else:
                examples, labels = drawn
                images = self._images.augmented(examples, draws)
                yield Batch(challenge_images(images), labels), 0

    def _validation(
        self, shape: EpisodeShape | VaryingShape, rng: np.random.Generator
    ) -> Iterator[tuple[Episode, int]]:
        """Draw as many episodes as an epoch has steps, without augmentation."""
        for _ in range(self.spec.batches):
            yield self._episode(self.benchmark.train.sample(1, shape, rng), None), 0

    def _episode(self, drawn: Episodes, draws: torch.Generator | None) -> Episode:
        _, way, shot = drawn.support.shape
        query = drawn.query.shape[2]
        indices = np.concatenate([drawn.support.ravel(), drawn.query.ravel()])
        if draws is None:
            images = challenge_images(self._images.unit(indices))
        else:
            images = challenge_images(self._images.augmented(indices, draws, way * shot))
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
