"""Any model of torchvision or timm (PyTorch Image Models), without the model's classifier.

Weights are drawn at random, or come from the file that ``weights`` names; nothing is downloaded.
"""

from abc import abstractmethod
from collections.abc import Collection
from functools import cache
from types import ModuleType
from typing import Any, ClassVar

import torch
from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, fastest_layout
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName

# No layer of any model has this width, so it identifies the classifier.
_CLASSES = 977


class LibraryBackbone(Backbone):
    """One model of a library, from random weights; `library_backbone` makes the class for a name.

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
        self.check(images)
        return self.network(fastest_layout(images.expand(-1, 3, -1, -1)))

    @classmethod
    @abstractmethod
    def models(cls) -> Collection[str]:
        """Name the models of the library that can be a backbone.

        Raises:
            ConfigError: the library is not installed.
        """

    @abstractmethod
    def _without_classifier(self, image_shape: ImageShape) -> nn.Module:
        """Build the model for images of this height and width, without its classifier."""


class Torchvision(LibraryBackbone):
    """One classification model of torchvision.

    The features are the input of its last linear layer (the last convolution, in SqueezeNet): the
    "second last layer of popular CNN backbones" of "Advances in MetaDL: AAAI 2021 challenge and
    workshop".
    """

    library = "torchvision"

    @classmethod
    def models(cls) -> Collection[str]:
        """Name the classification models of torchvision."""
        models = load_torchvision("torchvision.models")
        return models.list_models(module=models)

    def _without_classifier(self, image_shape: ImageShape) -> nn.Module:
        models = load_torchvision("torchvision.models")
        extra = _extra_arguments(self.model, image_shape)
        network = models.get_model(self.model, weights=None, num_classes=_CLASSES, **extra)
        parent, _, last = _classifier(network).rpartition(".")
        setattr(network.get_submodule(parent), last, nn.Identity())
        return network


class Timm(LibraryBackbone):
    """One model of timm; the features are what it gives when it is made for no classes."""

    library = "timm"

    @classmethod
    def models(cls) -> Collection[str]:
        """Name the models of timm, without tags."""
        return load_timm().list_models()

    def _without_classifier(self, image_shape: ImageShape) -> nn.Module:
        create = load_timm().create_model
        try:
            # Models of patches are made for one size of images; others do not know the argument.
            return create(self.model, num_classes=0, img_size=image_shape[1:])
        except TypeError as failure:
            if "img_size" not in str(failure):
                raise
            return create(self.model, num_classes=0)


@cache
def library_backbone(library: type[LibraryBackbone], model: str) -> type[Backbone]:
    """Return the backbone class of a model of a library; the same one each time.

    Raises:
        UnknownName: the library has no model of that name.
        ConfigError: the library is not installed.
    """
    models = library.models()
    if model not in models:
        raise UnknownName(f"{library.library} model", model, models)
    return type(f"{library.__name__}_{model}", (library,), {"model": model})


def load_timm() -> ModuleType:
    """Import ``timm``, which imports torchvision.

    Raises:
        ConfigError: it is not installed.
    """
    load_torchvision()
    try:
        import timm
    except ModuleNotFoundError:
        problem = "models of timm need that package, which is not installed"
        advice = "pip install 'fsl-sweep[backbones]'"
        raise ConfigError("", "backbone.name", f"{problem}: {advice}") from None
    return timm


def _classifier(network: nn.Module) -> str:
    """Return the name of the layer that gives the classes."""
    for name, layer in network.named_modules():
        if _CLASSES in (getattr(layer, "out_features", 0), getattr(layer, "out_channels", 0)):
            return name
    raise TypeError(f"A {type(network).__name__} of torchvision has no classifier to take out.")


def _extra_arguments(model: str, image_shape: ImageShape) -> dict[str, Any]:
    """Return what some models need: the image size, or no auxiliary classifiers."""
    if model.startswith("vit_"):
        return {"image_size": image_shape[1]}
    if model.startswith("maxvit"):
        return {"input_size": image_shape[1:]}
    if model in ("googlenet", "inception_v3"):
        return {"aux_logits": False, "init_weights": True}
    return {}
