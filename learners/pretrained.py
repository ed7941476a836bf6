"""Training on labelled batches: a classifier over all base classes, whose features are then used.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 4: features projected to unit norm,
logits over all base classes times 10. What is done with the features in a task differs from method
to method.
"""

from typing import Any, ClassVar

from jaxtyping import Float
from pydantic import PositiveFloat
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import GradientLearner, TrainsOn
from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.options import Options


class PretrainedOptions(Options):
    """Options of every `PretrainedLearner`: ``scale`` multiplies the logits over base classes."""

    scale: PositiveFloat = 10.0


class PretrainedLearner(GradientLearner[LabelledBatch]):
    """A learner trained as a linear classifier of unit-norm features among all base classes."""

    trains_on: ClassVar[TrainsOn] = "batches"

    def __init__(self, backbone: Backbone, options: PretrainedOptions, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, n_base_classes)
        nn.init.zeros_(self.classifier.bias)  # as the released code of both papers begins
        self.scale = options.scale

    @classmethod
    def has_weights(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """None: the classifier of base classes is there for training only."""
        return False

    def unit_features(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """Features of the backbone, projected to unit norm, float32 at least."""
        return normalize(at_least_float32(self.backbone(images)), dim=-1)

    def training_loss(self, batch: LabelledBatch) -> Float[Tensor, ""]:
        """Mean cross-entropy over the images, among all base classes."""
        logits = self.scale * self.classifier(self.unit_features(batch.images))
        return cross_entropy(logits, batch.labels)
