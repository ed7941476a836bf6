"""A backbone that is a model of a library, without the model's classifier."""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, check_images, fastest_layout
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images
from fsl_sweep.orchestrator.errors import ConfigError


class LibraryBackbone(Backbone):
    """One model of a library, from random weights; nothing is downloaded.

    Grey images are repeated to three channels.

    Attributes:
        library: its name in a sweep file, before the colon.
        model: the model's, after it.

    Raises:
        ConfigError: images of neither one nor three channels, or of a size that the model refuses.
    """

    Options = Options
    library: ClassVar[str]
    model: ClassVar[str]

    def __init__(self, options: Any, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        if image_shape[0] not in (1, 3):
            problem = f"models of {self.library} take 1 or 3 channels"
            raise ConfigError("", "backbone", f"{problem}; these images have {image_shape[0]}.")
        height, width = image_shape[1:]
        name = f"{self.library}:{self.model}"
        try:
            self.network = self._without_classifier(image_shape)
            with torch.no_grad():
                features = self.network.eval()(torch.zeros(1, 3, height, width))
        except (RuntimeError, ValueError, AssertionError) as failure:
            reason = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
            problem = f"{name} does not take images of {height}x{width} ({reason})"
            advice = "Use another image_size or model."
            raise ConfigError("", "backbone", f"{problem}. {advice}") from failure
        if not isinstance(features, torch.Tensor) or features.ndim != 2:
            problem = f"{name} gives no feature vectors; use another model."
            raise ConfigError("", "backbone", problem)
        self.feature_dim = features.shape[1]
        self.network.train()

    @property
    def body(self) -> nn.Module:
        """Return the library's model: names in a file of weights are those of the library."""
        return self.network

    def forward(self, images: Images) -> Features:
        """Compute features ``[n, feature_dim]`` of images ``[n, c, h, w]``."""
        check_images(images, self.image_shape)
        return self.network(fastest_layout(images.expand(-1, 3, -1, -1)))

    @abstractmethod
    def _without_classifier(self, image_shape: ImageShape) -> nn.Module:
        """Build the model for images of this height and width, without its classifier."""
