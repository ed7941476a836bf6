"""One epoch of meta-training: episodes or labelled batches, gradient steps, learning rates."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.tasks.episodes import Episodes
from fsl_sweep.datasets.tasks.ragged import grouped
from fsl_sweep.learners import optimizers
from fsl_sweep.learners.backbones.dropblock import one_training_step
from fsl_sweep.learners.base import EpisodeBatch, GradientLearner, LabelledBatch
from fsl_sweep.learners.batches import EpisodeGroup, RaggedEpisodes
from fsl_sweep.orchestrator.records.spec import Optimizer, TrialSpec, of_one_shape
from fsl_sweep.orchestrator.trial.draws import TrainingDraws, TrainingImages, torch_seed


class Training:
    """Runs a learner's epochs; what it draws depends only on trial id and epoch."""

    def __init__(
        self,
        spec: TrialSpec,
        benchmark: Benchmark,
        learner: GradientLearner[Any],
        device: torch.device,
    ) -> None:
        assert spec.optimizer is not None  # only a submission and what trains nothing has none
        self.spec, self.learner, self.device = spec, learner, device
        self.optimizer = make_optimizer(learner, spec.optimizer)
        self._clip_norm = spec.optimizer.clip_norm
        self._images = TrainingImages(spec, benchmark, device)
        self._draws = TrainingDraws(spec, benchmark)
        self._one_shape = spec.episodic is not None and of_one_shape(spec.episodic)

    def epoch(self, epoch: int) -> Iterator[Tensor]:
        """Take the steps of an epoch, from 1, yielding each step's loss (a detached scalar)."""
        rate = learning_rate(self.spec.schedule, epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        # For layers that draw from torch's global generator, such as nn.Dropout.
        torch.manual_seed(torch_seed(self.spec.id, "layers", epoch))
        self.learner.train()
        for batch in self._batches(epoch, self._images.draws(epoch)):
            self.optimizer.zero_grad(set_to_none=True)
            half = self.spec.precision == "bf16"
            precision = torch.autocast(self.device.type, torch.bfloat16, enabled=half)
            with one_training_step(self.learner), precision:
                loss = self.learner.training_loss(batch)
            # Frozen features under a head without parameters have a loss but nothing to train.
            if loss.requires_grad:
                loss.backward()
                if self._clip_norm is not None:
                    clip_grad_norm_(self.learner.parameters(), self._clip_norm)
                self.optimizer.step()
            yield loss.detach()

    def state(self) -> dict[str, Any]:
        """Return weights and optimizer state: with the epoch, all that is needed to continue."""
        return {"learner": self.learner.state_dict(), "optimizer": self.optimizer.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        """Load a ``state``; raises, perhaps halfway, if it does not fit."""
        for name, value in self.learner.state_dict().items():
            saved = state["learner"][name]
            # torch would convert types, and take a number from a vector.
            if (saved.dtype, saved.shape) != (value.dtype, value.shape):
                raise ValueError(f"'{name}' of the state has another type or shape")
        self.learner.load_state_dict(state["learner"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _batches(
        self, epoch: int, draws: torch.Generator
    ) -> Iterator[EpisodeBatch | RaggedEpisodes | LabelledBatch]:
        for drawn in self._draws.epoch(epoch):
            if not isinstance(drawn, Episodes):
                examples, labels = drawn
                images = self._images.augmented(examples, draws)
                yield LabelledBatch(self._images.normalised(images), self._on_device(labels))
            elif self._one_shape:
                yield self._rectangular(drawn, draws)
            else:
                yield self._ragged(drawn, draws)

    def _rectangular(self, episodes: Episodes, draws: torch.Generator) -> EpisodeBatch:
        support, query = self._ready(episodes.support.ravel(), episodes.query.ravel(), draws)
        return EpisodeBatch(
            support.view(*episodes.support.shape, *support.shape[1:]),
            query.view(*episodes.query.shape, *query.shape[1:]),
        )

    def _ragged(self, episodes: Episodes, draws: torch.Generator) -> RaggedEpisodes:
        supports: list[np.ndarray] = []
        queries: list[np.ndarray] = []
        groups = tuple(
            EpisodeGroup(
                self._rows(group.support, supports),
                self._rows(group.query, queries),
                self._on_device(group.target),
            )
            for group in grouped(episodes)
        )
        return RaggedEpisodes(
            *self._ready(np.concatenate(supports), np.concatenate(queries), draws), groups
        )

    def _rows(self, part: np.ndarray, indices: list[np.ndarray]) -> Tensor:
        """Append the part to ``indices``; return the rows that its images will have there."""
        done = sum(map(len, indices))
        indices.append(part.reshape(-1))
        return self._on_device(np.arange(done, done + part.size).reshape(part.shape))

    def _on_device(self, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers).to(self.device)

    def _ready(
        self, support: np.ndarray, query: np.ndarray, draws: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return normalised support and query images, augmented as the training episode says."""
        both, count = np.concatenate([support, query]), len(support)
        images = self._images.normalised(self._images.augmented(both, draws, count))
        return images[:count], images[count:]


class Untrained:
    """The `Training` of a learner with nothing to train; an interrupted one starts again."""

    def __init__(self, learner: GradientLearner[Any]) -> None:
        self.learner = learner

    def state(self) -> None:
        """Return None, so that `restore` is never called."""

    def restore(self, state: dict[str, Any]) -> None:
        """Do nothing: it is never called."""


def make_optimizer(learner: nn.Module, options: Optimizer) -> torch.optim.Optimizer:
    """Make the optimizer of a trial, over all of the learner's parameters (there may be none)."""
    parameters = [{"params": list(learner.parameters())}]
    common: dict[str, Any] = {"lr": options.lr, "weight_decay": options.weight_decay}
    if options.name == "sgd":
        momentum, nesterov = options.momentum, options.nesterov
        return optimizers.SGD(parameters, momentum=momentum, nesterov=nesterov, **common)
    cls = {"adam": optimizers.Adam, "adamw": optimizers.AdamW}[options.name]
    return cls(parameters, **common)


def learning_rate(schedule: list[tuple[int, float]], epoch: int) -> float:
    """Return the rate of an epoch counted from 1; schedules count from 0, as the papers' tables do.

    NaN without a schedule, as for a submission or where nothing is trained.
    """
    reached = [rate for first, rate in schedule if first <= epoch - 1]
    return reached[-1] if reached else math.nan
