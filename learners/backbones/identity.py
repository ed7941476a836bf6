"""No backbone: the images are features already, from a frozen extractor."""

from math import prod
from typing import final

from jaxtyping import Float
from torch import Tensor

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, check_images
from fsl_sweep.learners.options import Options


class IdentityOptions(Options):
    """The identity has no options."""


@final
class Identity(Backbone):
    """Flattens its input; a pool of features is a pool of images ``[n, d, 1, 1]``."""

    Options = IdentityOptions
    takes_features = True
    has_weights = False

    def __init__(self, options: IdentityOptions, image_shape: ImageShape) -> None:
        super(Backbone, self).__init__()
        self.options, self.image_shape = options, image_shape
        self.feature_dim = prod(image_shape)

    def forward(self, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n d"]:
        """The images, flattened to ``[n, c * h * w]``."""
        check_images(images, self.image_shape)
        return images.flatten(1)
