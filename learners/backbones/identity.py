"""No backbone: the images are already features, from a frozen extractor."""

from math import prod
from typing import Any, final

from fsl_sweep.learners.backbones.base import Backbone, ImageShape
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images


@final
class Identity(Backbone):
    """Flattens its input; a pool of features is a pool of images ``[n, d, 1, 1]``."""

    Options = Options
    takes_features = True
    has_weights = False

    def __init__(self, options: Any, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        self.feature_dim = prod(image_shape)

    def forward(self, images: Images) -> Features:
        """Flatten the images to ``[n, c * h * w]``."""
        self.check(images)
        return images.flatten(1)
