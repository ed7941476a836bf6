"""The 12-layer residual network of MetaOptNet.

Lee et al., "Meta-Learning with Differentiable Convex Optimization" (arXiv 1904.03758), section 4.1
and its released code: stages of 64, 160, 320 and 640 filters, each three 3x3 convolutions with a
projected shortcut, leaky ReLU 0.1, 2x2 max-pooling, then dropout in the first two stages and
DropBlock in the last two. The backbone of "Two Sides of Meta-Learning Evaluation", appendix D.2.
"""

from typing import Annotated, final

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, max_pool2d

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, halved, initialised
from fsl_sweep.learners.backbones.dropblock import DropSchedule, drop_blocks
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images

WIDTHS = (64, 160, 320, 640)
SLOPE = 0.1


class ResNet12Options(Options):
    """Options of `ResNet12`.

    Attributes:
        avg_pool: average the last feature map over its positions: 640 features at any image size.
            (The code of "Two Sides" averages windows of ``block_size``, which is the whole map
            except on Zappos, where it leaves 10,240.) Without it, 84x84 images give 16,000 and
            32x32 images 2,560.
        drop_rate: dropout rate of the first two stages, and the final rate of DropBlock in the last
            two; 0 switches both off.
        drop_steps: training steps over which DropBlock's rate rises from 0. MetaOptNet's code
            counts 40,000 forward passes, two a training step, and those of evaluation as well.
        block_size: side of DropBlock's blocks; unless given, MetaOptNet's: 5 for images of at least
            64 pixels, else 2. The code of "Two Sides" decides by the data set's name, which gives 2
            on Zappos, whose images have 84 pixels: an accident, not followed.
    """

    avg_pool: bool = False
    drop_rate: Annotated[float, Field(ge=0, lt=1)] = 0.1
    drop_steps: PositiveInt = 20_000
    block_size: PositiveInt | None = None


@final
class ResNet12(Backbone):
    """ResNet-12 with 12,424,320 parameters for images of three channels.

    Raises ConfigError if the images have fewer than 16 pixels a side.
    """

    Options = ResNet12Options

    def __init__(self, options: ResNet12Options, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        sides = halved("resnet12", image_shape, len(WIDTHS))
        self.avg_pool, self.drop_rate = options.avg_pool, options.drop_rate
        self.feature_dim = WIDTHS[-1] * (1 if options.avg_pool else sides[0] * sides[1])
        self.block_size = options.block_size or (5 if min(image_shape[1:]) >= 64 else 2)
        inputs = (image_shape[0], *WIDTHS[:-1])
        self.stages = nn.ModuleList(_Stage(*widths) for widths in zip(inputs, WIDTHS, strict=True))
        self.drop = DropSchedule(options.drop_rate, options.drop_steps)

    def forward(self, images: Images) -> Features:
        """Compute features ``[n, feature_dim]``; in training mode, advance the drop schedule."""
        maps = self.laid_out(images)
        dropping = self.training and self.drop_rate > 0
        draws = self.drop.advance(images.device) if dropping else None
        for number, stage in enumerate(self.stages):
            maps = stage(maps)
            if draws is not None:
                maps = self._dropped(maps, number, draws)
        return maps.mean(dim=(-2, -1)) if self.avg_pool else maps.flatten(1)

    def _dropped(self, maps: Tensor, stage: int, draws: torch.Generator) -> Tensor:
        if stage < 2:
            return drop_blocks(maps, self.drop_rate, 1, draws)
        return drop_blocks(maps, self.drop.rate, self.block_size, draws)


class _Stage(nn.Module):
    """Three convolutions and a projected shortcut, added, rectified and pooled."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            _convolution(n, outputs, 3) for n in (inputs, outputs, outputs)
        )
        self.shortcut = _convolution(inputs, outputs, 1)

    def forward(self, maps: Tensor) -> Tensor:
        first, second, third = self.convolutions
        shortcut = self.shortcut(maps)
        maps = leaky_relu(first(maps), SLOPE, inplace=True)
        maps = leaky_relu(second(maps), SLOPE, inplace=True)
        # A leaky ReLU is increasing: after the pooling it gives the same on a quarter of the units.
        return leaky_relu(max_pool2d(third(maps) + shortcut, 2), SLOPE, inplace=True)


def _convolution(inputs: int, outputs: int, side: int) -> nn.Sequential:
    # The gain is MetaOptNet's: that of a plain ReLU, not of slope 0.1.
    convolution = initialised(nn.Conv2d(inputs, outputs, side, padding=side // 2, bias=False))
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))
