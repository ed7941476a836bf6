"""Fine-tuning (FT): the whole network is trained on the support set of each task.

"Oops, I Sampled it Again: Reinterpreting Confidence Intervals in Few-Shot Learning", section 2.2,
after Luo et al., "A Closer Look at Few-shot Classification Again" (arXiv 2301.12246) and its
released code: a linear classifier of unit-norm features, all of whose weights start at 1, trained
together with the backbone for 30 epochs by gradient descent with momentum 0.9; rates 0.1 for the
classifier and 0.0001 for the backbone, annealed by a half cosine; batch norm by its running
statistics. The code's batches of 100 are the whole support up to 100 examples; here always.
"""

import math
from typing import final

import torch
from jaxtyping import Float
from pydantic import NonNegativeFloat, PositiveFloat, PositiveInt
from torch import Tensor
from torch.func import functional_call
from torch.nn.functional import cross_entropy, linear, normalize

from fsl_sweep.learners.base import AdaptationLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, QueryImages, SupportImages

MOMENTUM = 0.9


class FinetuneOptions(PretrainedOptions):
    """Options of `Finetune`, beside those of `PretrainedOptions`.

    Attributes:
        steps: passes over the support.
        backbone_lr: initial learning rate of the backbone; 0 leaves it frozen.
        head_lr: initial learning rate of the classifier.
    """

    steps: PositiveInt = 30
    backbone_lr: NonNegativeFloat = 1e-4
    head_lr: PositiveFloat = 0.1


@final
class Finetune(PretrainedLearner, AdaptationLearner[LabelledBatch]):
    """Logits of a copy of the network that was trained on the task's support."""

    Options = FinetuneOptions
    options: FinetuneOptions

    def predict(self, support: SupportImages, query: QueryImages) -> Logits:
        """Logits of each query; the tasks are adapted to in turn."""
        check_support(support)
        pairs = zip(support, query, strict=True)
        return torch.stack([self._answer(task, queries) for task, queries in pairs])

    def _answer(
        self, support: Float[Tensor, "way shot c h w"], query: Float[Tensor, "m c h w"]
    ) -> Float[Tensor, "m way"]:
        network, head = self._adapt(support)
        with torch.no_grad():
            return linear(self._features(network, query), *head)

    def _adapt(
        self, support: Float[Tensor, "way shot c h w"]
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """The backbone's weights and the classifier after training on a task's support."""
        way, shot = support.shape[:2]
        images = support.flatten(0, 1)
        labels = torch.arange(way, device=images.device).repeat_interleave(shot)
        network, head = self._copied_weights(), self._initial_head(way)
        with torch.no_grad():
            frozen = None if network else self._features(network, images)
        descent = torch.optim.SGD(
            [
                {"params": list(network.values()), "lr": self.options.backbone_lr},
                {"params": head, "lr": self.options.head_lr},
            ],
            momentum=MOMENTUM,
        )
        steps = self.options.steps
        annealing = torch.optim.lr_scheduler.LambdaLR(
            descent, lambda step: (1 + math.cos(math.pi * step / steps)) / 2
        )
        with torch.enable_grad():
            for _ in range(steps):
                descent.zero_grad()
                features = frozen if frozen is not None else self._features(network, images)
                cross_entropy(linear(features, *head), labels).backward()
                descent.step()
                annealing.step()
        return network, head

    def _copied_weights(self) -> dict[str, Tensor]:
        """The backbone's weights, to be changed; none if it is frozen."""
        if self.options.backbone_lr == 0:
            return {}
        named = self.backbone.named_parameters()
        return {name: weight.detach().clone().requires_grad_() for name, weight in named}

    def _initial_head(self, way: int) -> list[Tensor]:
        """Weights of 1 and a bias of 0, for each class of a task."""
        like = self.classifier.weight
        weight, bias = like.new_ones(way, self.backbone.feature_dim), like.new_zeros(way)
        return [weight.requires_grad_(), bias.requires_grad_()]

    def _features(self, network: dict[str, Tensor], images: Tensor) -> Tensor:
        features = functional_call(self.backbone, network, (images,))
        return normalize(at_least_float32(features), dim=-1)
