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

from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.base import AdaptationLearner
from fsl_sweep.learners.batches import LabelledBatch, check_support
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.optimizers import SGD
from fsl_sweep.learners.pretrained import PretrainedLearner, PretrainedOptions
from fsl_sweep.learners.shapes import Logits, QueryImages, SupportImages

MOMENTUM = 0.9


class FinetuneOptions(PretrainedOptions):
    """Options of `Finetune`, in addition to those of `PretrainedOptions`.

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

    @classmethod
    def unsuited(cls, options: FinetuneOptions, backbone: BackboneOptions) -> str | None:
        """Refuse to train a frozen backbone on a task's support."""
        if backbone.frozen and options.backbone_lr:
            return (
                f"it trains the backbone on each support (backbone_lr: {options.backbone_lr:g}), "
                "but the backbone is frozen; write 'backbone_lr: 0' (then only the classifier "
                "adapts), or leave out backbone.frozen"
            )
        return None

    def predict(self, support: SupportImages, query: QueryImages) -> Logits:
        """Compute logits of each query; the tasks are adapted to in turn."""
        check_support(*support.shape[1:3])
        logits: list[Tensor] = []
        for task, queries in zip(support, query, strict=True):
            network, head = self._adapt(task)
            with torch.no_grad():
                logits.append(linear(self._features(network, queries), *head))
        return torch.stack(logits)

    def _adapt(
        self, support: Float[Tensor, "way shot c h w"]
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """Train on a task's support; return the backbone's weights and the classifier."""
        way, shot = support.shape[:2]
        images = support.flatten(0, 1)
        labels = torch.arange(way, device=images.device).repeat_interleave(shot)
        named = self.backbone.named_parameters() if self.options.backbone_lr else ()
        network = {name: weight.detach().clone().requires_grad_() for name, weight in named}
        like = self.classifier.weight
        head = [
            like.new_ones(way, like.shape[1], requires_grad=True),
            like.new_zeros(way, requires_grad=True),
        ]
        with torch.no_grad():
            frozen = None if network else self._features(network, images)
        descent = SGD(
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

    def _features(self, network: dict[str, Tensor], images: Tensor) -> Tensor:
        features = functional_call(self.backbone, network, (images,))
        return normalize(at_least_float32(features), dim=-1)
