"""Training on labelled batches: a classifier over all base classes, whose features are then used.

"Lessons from Chasing Few-Shot Learning Benchmarks", table 4: features projected to unit norm,
logits over all base classes times 10. The methods differ in how a task uses the features.
"""

from typing import Any, ClassVar

from pydantic import PositiveFloat
from torch import nn
from torch.nn.functional import cross_entropy, normalize

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import EmbeddingLearner, GradientLearner, TrainsOn
from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images, Loss


class PretrainedOptions(Options):
    """Options of every `PretrainedLearner`: ``scale`` multiplies the logits over base classes."""

    scale: PositiveFloat = 10.0


class PretrainedLearner(GradientLearner[LabelledBatch]):
    """A learner trained as a linear classifier of unit-norm features among all base classes."""

    trains_on: ClassVar[TrainsOn] = "batches"

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, n_base_classes)
        nn.init.zeros_(self.classifier.bias)  # as in the released code of both papers

    @classmethod
    def has_weights(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the classifier of base classes is used in training only."""
        return False

    @classmethod
    def draws(cls, options: Any) -> bool:  # noqa: ARG003 (an interface)
        """Return False: the classifier of base classes is all that it draws."""
        return False

    def unit_features(self, images: Images) -> Features:
        """Compute features of the backbone, projected to unit norm, float32 at least."""
        return _unit(self.backbone(images))

    def training_loss(self, batch: LabelledBatch) -> Loss:
        """Return the mean cross-entropy over the images, among all base classes."""
        logits = self.options.scale * self.classifier(self.unit_features(batch.images))
        return cross_entropy(logits, batch.labels)


class FrozenFeatures(PretrainedLearner, EmbeddingLearner[LabelledBatch]):
    """A pretrained learner whose head answers from unit-norm features."""

    def from_backbone(self, features: Features) -> Features:
        """Project features to unit norm, float32 at least."""
        return _unit(features)


def _unit(features: Features) -> Features:
    return normalize(at_least_float32(features), dim=-1)
