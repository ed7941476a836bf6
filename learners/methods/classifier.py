"""Plain image classification (IC): not a few-shot learner, but the reference for them.

"Two Sides of Meta-Learning Evaluation", section 5.1.1, figure 2(b) and appendix D.2, table 4: a
network with a linear classifier, trained on 80 % of the base classes' examples; its snapshots are
ranked on the next 10 % and on the last 10 %, and the two rankings compared. Both shares are drawn
from the distribution that was trained on, which ``in-distribution:<benchmark>`` provides.
"""

from typing import Any, ClassVar, final

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fsl_sweep.learners.backbones.base import Backbone
from fsl_sweep.learners.base import ClassificationLearner, TrainsOn
from fsl_sweep.learners.batches import LabelledBatch
from fsl_sweep.learners.heads.precision import at_least_float32
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Images, Loss


@final
class Classifier(ClassificationLearner[LabelledBatch]):
    """A linear classifier of the backbone's features, in training and in test."""

    Options = Options
    trains_on: ClassVar[TrainsOn] = "batches"

    def __init__(self, backbone: Backbone, options: Any, n_base_classes: int) -> None:
        super().__init__(backbone, options, n_base_classes)
        self.backbone = backbone
        self.classifier = nn.Linear(backbone.feature_dim, n_base_classes)

    def classify(self, images: Images) -> Float[Tensor, "n classes"]:
        """Compute logits of normalised images for every base class, float32 at least."""
        return at_least_float32(self.classifier(self.backbone(images)))

    def training_loss(self, batch: LabelledBatch) -> Loss:
        """Return the mean cross-entropy over the images, among all base classes."""
        return cross_entropy(self.classify(batch.images), batch.labels)
