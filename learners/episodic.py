"""Training on episodes: the head that is tested is the head that is trained."""

from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner, TrainsOn
from fsl_sweep.learners.batches import EpisodeBatch, RaggedEpisodes
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Loss

Passes = Literal["separate", "joint"]


class EpisodicOptions(Options):
    """Options of every learner that trains its head on episodes.

    Attributes:
        passes: how a training step's images go through the backbone. ``separate``: the support
            images of all tasks in one pass and the queries in another, so that batch norm
            normalises each by its own statistics, as the released code of "Two Sides of
            Meta-Learning Evaluation" does. ``joint``: all in one pass, by common statistics.
            Measuring normalises by running averages, and does not depend on this.
    """

    passes: Passes = "separate"


class EpisodicLearner(EmbeddingLearner[EpisodeBatch]):
    """An embedding learner whose training loss is its own head's on sampled episodes.

    Its options derive from `EpisodicOptions`, and may have ``label_smoothing`` for the loss.
    """

    trains_on: ClassVar[TrainsOn] = "episodes"
    takes_ragged: ClassVar[bool] = True

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone

    def training_loss(self, batch: EpisodeBatch | RaggedEpisodes) -> Loss:
        """Return the mean cross-entropy over the tasks; see `episode_loss`."""
        smoothing = getattr(self.options, "label_smoothing", 0.0)
        return episode_loss(self, batch, self.options.passes, smoothing)


class ScaledLearner(EpisodicLearner):
    """An episodic learner with a factor of the logits, ``scale``, which may be trained.

    Its options have ``scale``, the initial factor, and ``learn_scale``, whether it is trained.
    """

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.scale = nn.Parameter(torch.tensor(options.scale), requires_grad=options.learn_scale)

    @classmethod
    def has_weights(cls, options: Any) -> bool:
        """Tell whether the scale is trained."""
        return options.learn_scale

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the scale is an option."""
        return False


def episode_loss(
    learner: EmbeddingLearner[Any],
    batch: EpisodeBatch | RaggedEpisodes,
    passes: Passes,
    label_smoothing: float = 0.0,
) -> Loss:
    """Average over tasks the mean cross-entropy (nats) of a learner's head over their queries.

    Args:
        learner: whose `embed` and `head` are used.
        batch: the episodes.
        passes: see `EpisodicOptions`.
        label_smoothing: target probability taken from the query's class and shared equally by the
            others, in [0, 0.5), as in the released code of MetaOptNet and of "Two Sides of
            Meta-Learning Evaluation": eps / (way - 1) for each wrong class, 1 - eps for the right
            one. (torch's own option shares it among all classes, the query's included.)
    """
    if isinstance(batch, RaggedEpisodes):
        return _ragged_loss(learner, batch, passes, label_smoothing)
    tasks, way, shot = batch.support.shape[:3]
    support, query = _embedded(
        learner, batch.support.flatten(0, 2), batch.query.flatten(0, 2), passes
    )
    logits = learner.head(
        support.reshape(tasks, way, shot, -1), query.reshape(tasks, -1, query.shape[-1])
    )
    spread = label_smoothing * way / (way - 1)
    return cross_entropy(logits.flatten(0, 1), query_labels(batch.query), label_smoothing=spread)


def _ragged_loss(
    learner: EmbeddingLearner[Any], batch: RaggedEpisodes, passes: Passes, label_smoothing: float
) -> Loss:
    """Give each task the same weight, whatever its number of queries."""
    support, query = _embedded(learner, batch.support, batch.query, passes)
    losses: list[Tensor] = []
    for group in batch.groups:
        logits = learner.head(support[group.support], query[group.query])
        losses.append(task_losses(logits, group.target, label_smoothing))
    return torch.cat(losses).mean()


def task_losses(
    logits: Float[Tensor, "task m way"], target: Int[Tensor, "task m"], label_smoothing: float
) -> Float[Tensor, " task"]:
    """Average the cross-entropy (nats) over each task's queries; smoothing as in `episode_loss`."""
    way = logits.shape[-1]
    spread = label_smoothing * way / (way - 1)
    each = cross_entropy(
        logits.flatten(0, 1), target.flatten(), label_smoothing=spread, reduction="none"
    )
    return each.view(target.shape).mean(dim=1)


def _embedded(
    learner: EmbeddingLearner[Any], support: Tensor, query: Tensor, passes: Passes
) -> tuple[Features, Features]:
    """Compute features of the support and of the query images of all tasks."""
    if passes == "separate":
        return learner.embed(support), learner.embed(query)
    features = learner.embed(torch.cat([support, query]))
    return features[: len(support)], features[len(support) :]


def query_labels(query: Float[Tensor, "task way query c h w"]) -> Int[Tensor, " n"]:
    """Return the class of each query image, int64 ``[task * way * query]``, in their order."""
    tasks, way, queries = query.shape[:3]
    classes = torch.arange(way, device=query.device)
    return classes.repeat_interleave(queries).repeat(tasks)
