"""The transfer baseline: a new classifier on frozen features, trained a little on each support.

"Advances in MetaDL: AAAI 2021 challenge and workshop", section 4.3, and the challenge's released
code: a softmax layer with Glorot's uniform initial weights, trained for 10 epochs with Adam at a
learning rate of 0.001. So short a training hardly leaves the initial weights behind; the paper
reports accuracies close to chance.
"""

import math
from typing import Any, final

import torch
from jaxtyping import Float
from pydantic import PositiveFloat, PositiveInt
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner
from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.heads.precision import at_least_float32, full_precision
from fsl_sweep.learners.heads.ridge import labelled_examples
from fsl_sweep.learners.optimizers import Adam
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, Query, Support

EPSILON = 1e-7  # TensorFlow's default


class TransferOptions(PretrainedOptions):
    """Options of `Transfer`: passes over the support, and the learning rate of Adam."""

    steps: PositiveInt = 10
    lr: PositiveFloat = 1e-3


@final
class Transfer(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """Logits of a softmax layer trained on the task's support.

    Every task starts from the same initial weights, drawn once for the learner.
    """

    Options = TransferOptions
    init_seed: Tensor

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        # In the state, so that a snapshot answers as the learner did.
        self.register_buffer("init_seed", torch.randint(2**62, ()))

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return True: the first weights of the new layer."""
        return True

    @torch.no_grad()
    def head(self, support: Support, query: Query) -> Logits:
        """Compute logits of each query for each class of its task; not differentiable."""
        with full_precision(query.device):
            examples, targets = labelled_examples(support)
            examples = _with_ones(examples)
            layer = self.initial_layer(support.shape[1], like=examples)
            layer = layer.repeat(len(support), 1, 1)
            adam = Adam([layer], lr=self.options.lr, eps=EPSILON)
            for _ in range(self.options.steps):
                error = (examples @ layer).softmax(dim=-1) - targets
                layer.grad = examples.mT @ error / examples.shape[1]
                adam.step()
            return _with_ones(at_least_float32(query)) @ layer

    def initial_layer(
        self, way: int, like: Float[Tensor, "task m width"]
    ) -> Float[Tensor, "width way"]:
        """Draw Glorot's uniform weights for ``way`` classes, and a last row of 0, the bias."""
        inputs = like.shape[-1] - 1
        draws = torch.Generator().manual_seed(int(self.init_seed))
        layer = torch.rand(inputs + 1, way, generator=draws) * 2 - 1
        layer *= math.sqrt(6 / (inputs + way))
        layer[-1] = 0
        return layer.to(like)


def _with_ones(features: Float[Tensor, "task m d"]) -> Float[Tensor, "task m width"]:
    return torch.cat([features, torch.ones_like(features[..., :1])], dim=-1)
