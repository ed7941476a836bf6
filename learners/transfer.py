"""The transfer baseline: a new classifier on frozen features, trained a little on each support.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 4.3, and the challenge's released
code: a softmax layer with Glorot's uniform initial weights, trained for 10 epochs with Adam at a
learning rate of 0.001. So short a training hardly leaves the initial weights behind; the paper
reports accuracies close to chance.
"""

import math
from typing import final

import torch
from jaxtyping import Float
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.heads.ridge import one_hot_targets
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions

BETAS = (0.9, 0.999)
EPSILON = 1e-7


class TransferOptions(PretrainedOptions):
    """Options of `Transfer`.

    Attributes:
        scale: multiplies the logits over base classes in training.
        steps: passes over the support.
        lr: learning rate of Adam.
    """

    steps: PositiveInt = 10
    lr: PositiveFloat = 1e-3


@final
class Transfer(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Logits of a softmax layer trained on the task's support.

    Every task begins with the same initial weights, drawn once for the learner.
    """

    Options = TransferOptions
    init_seed: Tensor

    def __init__(self, backbone: Backbone, options: TransferOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.steps, self.lr = options.steps, options.lr
        # In the state, so that a snapshot answers as the learner did.
        self.register_buffer("init_seed", torch.randint(2**62, ()))

    def embed(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, as they are."""
        return self.backbone(images)

    @torch.no_grad()
    def head(
        self,
        support: Float[Tensor, "task way shot d"],
        query: Float[Tensor, "task m d"],
    ) -> Float[Tensor, "task m way"]:
        """Logits of each query for each class of its task; not differentiable."""
        check_support(support)
        with full_precision(query.device):
            extended = _with_ones(at_least_float32(support).flatten(1, 2))
            targets = one_hot_targets(support.shape[1], support.shape[2], like=extended)
            layer = self.initial_layer(support.shape[1], like=extended).expand(len(support), -1, -1)
            layer = trained_with_adam(layer, extended, targets, self.steps, self.lr)
            return _with_ones(at_least_float32(query)) @ layer

    def initial_layer(
        self, way: int, like: Float[Tensor, "task m width"]
    ) -> Float[Tensor, "width way"]:
        """Glorot's uniform weights for ``way`` classes, and a last row of 0, the bias."""
        inputs = like.shape[-1] - 1
        draws = torch.Generator().manual_seed(int(self.init_seed))
        layer = torch.rand(inputs + 1, way, generator=draws) * 2 - 1
        layer *= math.sqrt(6 / (inputs + way))
        layer[-1] = 0
        return layer.to(like)


def trained_with_adam(
    layer: Float[Tensor, "task width way"],
    examples: Float[Tensor, "task m width"],
    targets: Float[Tensor, "m way"],
    steps: int,
    lr: float,
) -> Float[Tensor, "task width way"]:
    """A softmax layer after ``steps`` steps of Adam on the mean cross-entropy of each task."""
    first, second = torch.zeros_like(layer), torch.zeros_like(layer)
    for step in range(1, steps + 1):
        error = (examples @ layer).softmax(dim=-1) - targets
        gradient = examples.transpose(-1, -2) @ error / examples.shape[1]
        first = BETAS[0] * first + (1 - BETAS[0]) * gradient
        second = BETAS[1] * second + (1 - BETAS[1]) * gradient.square()
        mean, spread = first / (1 - BETAS[0] ** step), second / (1 - BETAS[1] ** step)
        layer = layer - lr * mean / (spread.sqrt() + EPSILON)
    return layer


def _with_ones(features: Float[Tensor, "task m d"]) -> Float[Tensor, "task m width"]:
    return torch.cat([features, torch.ones_like(features[..., :1])], dim=-1)
