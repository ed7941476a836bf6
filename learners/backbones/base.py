"""What every backbone is: a network from images to flat feature vectors."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import torch
from pydantic import create_model
from torch import Tensor, nn

from fsl_sweep.learners.backbones.options import BackboneOptions
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images
from fsl_sweep.orchestrator.errors import ConfigError

ImageShape = tuple[int, int, int]
_OptionsClass = type[Options]


class Backbone(nn.Module, ABC):
    """A network from images ``[n, c, h, w]`` to features ``[n, feature_dim]``.

    Every backbone is constructed as ``cls(options, image_shape)``.

    Attributes:
        Options: the backbone's own options in a sweep file; those of `BackboneOptions` are added.
        takes_features: whether it accepts features of a frozen extractor instead of images.
        has_weights: whether it has anything to train, unless it is frozen.
        frozen: whether its weights, and the running averages of its batch norm, stay as they are.
        image_shape: (channels, height, width) of the images that it was built for.
        feature_dim: length of a feature vector.
    """

    Options: ClassVar[_OptionsClass]
    takes_features: ClassVar[bool] = False
    has_weights: ClassVar[bool] = True
    frozen: bool = False
    options: Any
    image_shape: ImageShape
    feature_dim: int

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        options = vars(cls).get("Options")
        if options is None or issubclass(options, BackboneOptions):
            return
        if taken := sorted(options.model_fields.keys() & BackboneOptions.model_fields.keys()):
            problem = f"{', '.join(taken)}: every backbone has options of these names"
            raise TypeError(f"{cls.__name__}.Options defines {problem}; rename yours.")
        cls.Options = create_model(options.__name__, __base__=(BackboneOptions, options))

    def __init__(self, options: Any, image_shape: ImageShape) -> None:
        super().__init__()
        self.options, self.image_shape = options, image_shape

    @property
    def body(self) -> nn.Module:
        """Return the module whose weights a file of pretrained weights holds."""
        return self

    def freeze(self) -> None:
        """Stay in evaluation mode from now on, without gradients."""
        self.frozen = True
        self.requires_grad_(False).eval()

    def train(self, mode: bool = True) -> Self:
        """Set the mode as of any module, but leave a frozen backbone in evaluation mode."""
        return super().train(mode and not self.frozen)

    def check(self, images: Tensor) -> None:
        """Raise ValueError unless ``images`` are ``[n, *image_shape]``."""
        if images.ndim != 4 or tuple(images.shape[1:]) != self.image_shape:
            expected = ", ".join(map(str, self.image_shape))
            raise ValueError(
                f"This backbone was built for images [n, {expected}]; "
                f"it was given {list(images.shape)}. Prepare the pool with the same image size "
                "and channels, or build the backbone for these."
            )

    def laid_out(self, images: Images) -> Images:
        """Check the images, and return them in the `fastest_layout`."""
        self.check(images)
        return fastest_layout(images)

    @abstractmethod
    def forward(self, images: Images) -> Features:
        """Compute features of normalised images of the shape that the backbone was built for.

        Raises:
            ValueError: the images have another shape.
        """


def halved(name: str, image_shape: ImageShape, times: int) -> tuple[int, int]:
    """Return height and width after halving; raise ConfigError if nothing is left of the images."""
    _, height, width = image_shape
    sides = height >> times, width >> times
    if min(sides) < 1:
        raise ConfigError(
            "",
            "backbone",
            f"{name} halves its images {times} times, so both sides need at least "
            f"{1 << times} pixels; these are {height}x{width}. Use a larger image_size.",
        )
    return sides


def fastest_layout(images: Images) -> Images:
    """Return the same images, channels last where that makes convolutions faster.

    On a CPU channels-last pooling, batch norm and convolution take about half the time; on a GPU
    tensor cores want it in half precision. The weights keep the usual layout, so that a snapshot
    holds contiguous tensors; the layout of the images decides that of all feature maps.
    """
    device = images.device.type
    half = images.dtype in (torch.bfloat16, torch.float16) or torch.is_autocast_enabled(device)
    if device != "cpu" and not half:
        return images
    # Not ``contiguous(memory_format=...)``: it leaves the ambiguous strides of a single channel, so
    # that the first convolution would stay in the slow layout; and `torch.func.vmap`, under which
    # tasks are adapted together, does not support it.
    rows = images.permute(0, 2, 3, 1)
    return rows.clone(memory_format=torch.contiguous_format).permute(0, 3, 1, 2)


def initialised(convolution: nn.Conv2d) -> nn.Conv2d:
    """Give the convolution Kaiming normal weights by fan-out, for a ReLU, and return it.

    He et al., "Delving Deep into Rectifiers" (arXiv 1502.01852), equation 14, and the code of
    MetaOptNet and of "Two Sides of Meta-Learning Evaluation".
    """
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution
