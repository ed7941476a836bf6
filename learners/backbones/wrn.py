"""The wide residual network WRN-16-10.

Zagoruyko and Komodakis, "Wide Residual Networks" (arXiv 1605.07146), section 2 and table 1: depth
16, widening factor 10, blocks of two 3x3 convolutions in the order batch norm, ReLU, convolution,
without dropout, and the average of the last feature map over its positions. The larger backbone of
"Lessons from Chasing Few-Shot Learning Benchmarks", table 6.
"""

from typing import Any, final

from torch import Tensor, nn
from torch.nn.functional import relu

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, initialised
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images

STEM = 16
WIDTHS = (160, 320, 640)  # 16, 32, 64 times the widening factor
STRIDES = (1, 2, 2)
BLOCKS = 2  # a group: depth 16 = 3 groups of 2 blocks of 2 convolutions, stem, 3 projections


@final
class WRN16x10(Backbone):
    """WRN-16-10 with 17,110,224 parameters for images of three channels, 640 features."""

    Options = Options

    def __init__(self, options: Any, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        self.feature_dim = WIDTHS[-1]
        self.stem = _convolution(image_shape[0], STEM, 3, 1)
        inputs = (STEM, *WIDTHS[:-1])
        self.blocks = nn.Sequential()
        for before, width, stride in zip(inputs, WIDTHS, STRIDES, strict=True):
            self.blocks.append(_Block(before, width, stride))
            self.blocks.extend(_Block(width, width, 1) for _ in range(BLOCKS - 1))
        self.norm = nn.BatchNorm2d(WIDTHS[-1])

    def forward(self, images: Images) -> Features:
        """Compute features ``[n, 640]``, none negative."""
        maps = self.blocks(self.stem(self.laid_out(images)))
        return relu(self.norm(maps)).mean(dim=(-2, -1))


class _Block(nn.Module):
    """Two convolutions, each after batch norm and ReLU, and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.convolution1 = _convolution(inputs, outputs, 3, stride)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.convolution2 = _convolution(outputs, outputs, 3, 1)
        alike = inputs == outputs and stride == 1
        self.projection = None if alike else _convolution(inputs, outputs, 1, stride)

    def forward(self, maps: Tensor) -> Tensor:
        ready = relu(self.norm1(maps))
        # Where the shape changes, the shortcut too starts from the normalised maps.
        shortcut = maps if self.projection is None else self.projection(ready)
        return shortcut + self.convolution2(relu(self.norm2(self.convolution1(ready))))


def _convolution(inputs: int, outputs: int, side: int, stride: int) -> nn.Conv2d:
    return initialised(nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False))
