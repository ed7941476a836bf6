"""The four-block convolutional network of the first few-shot papers.

Prototypical Networks (arXiv 1703.05175), section 3.1, with 64 filters; 48 and 32 filters are
usual for small images. "Two Sides of Meta-Learning Evaluation", appendix D.2, uses Conv-64 for
FEMNIST.
"""

from typing import Annotated, final

import torch
from pydantic import Field
from torch import Tensor, nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, halved, initialised
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images

BLOCKS = 4


class Conv4Options(Options):
    """Options of `Conv4`: ``width`` is the number of filters of every block."""

    width: Annotated[int, Field(ge=1, le=4096)] = 64


@final
class Conv4(Backbone):
    """Four times [3x3 convolution, batch norm, ReLU, 2x2 max-pooling], flattened.

    84x84 gives 25 x width features, 32x32 gives 4 x width, 28x28 gives width. Raises ConfigError if
    the images have fewer than 16 pixels a side.
    """

    Options = Conv4Options

    def __init__(self, options: Conv4Options, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        sides = halved("conv4", image_shape, BLOCKS)
        self.feature_dim = options.width * sides[0] * sides[1]
        inputs = (image_shape[0], *[options.width] * (BLOCKS - 1))
        self.blocks = nn.Sequential(*[_Block(n, options.width) for n in inputs])

    def forward(self, images: Images) -> Features:
        """Compute features ``[n, feature_dim]`` of images ``[n, c, h, w]``."""
        return self.blocks(self.laid_out(images)).flatten(1)


class _Block(nn.Sequential):
    """3x3 convolution, batch norm, 2x2 max-pooling and ReLU.

    Pooling and ReLU commute, gradients included; pooled first, the ReLU has a quarter to do.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        convolution = initialised(nn.Conv2d(inputs, outputs, kernel_size=3, padding=1))
        super().__init__(
            convolution, nn.BatchNorm2d(outputs), nn.MaxPool2d(2), nn.ReLU(inplace=True)
        )

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Compute feature maps ``[n, outputs, h // 2, w // 2]`` of ``[n, inputs, h, w]``."""
        convolution, norm, pool, relu = self
        if self._norm_rises(input.device):
            return relu(norm(pool(convolution(input))))
        return super().forward(input)

    def _norm_rises(self, device: torch.device) -> bool:
        """Check whether batch norm increases with each unit, so that it may follow pooling.

        The largest of four units is then the largest after it as well, to the last bit. Statistics
        of the batch would change with the order, and so would gradients where units are equal. On a
        GPU this question would stall it.
        """
        norm = self[1]
        if self.training or torch.is_grad_enabled() or device.type != "cpu":
            return False
        if not isinstance(norm, nn.BatchNorm2d) or norm.running_var is None:
            return False
        return bool((norm.weight > 0).all())
