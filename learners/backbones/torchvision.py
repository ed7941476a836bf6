"""Any classification model of torchvision, named ``torchvision:<model>``, without its classifier.

The features are the input of the model's last linear layer (the last convolution, in SqueezeNet):
the "second last layer of popular CNN backbones" of "Advances in MetaDL: AAAI 2021 challenge and
workshop". Weights are drawn at random; nothing is downloaded.
"""

from functools import cache
from typing import Any, ClassVar

import torch
from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape, check_images, fastest_layout
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.learners.options import Options
from fsl_sweep.learners.shapes import Features, Images
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName

# No layer of any model has this width, so it identifies the classifier.
_CLASSES = 977


class TorchvisionBackbone(Backbone):
    """One model of torchvision; `torchvision_backbone` makes the class for a name.

    Grey images are repeated to three channels.

    Raises:
        ConfigError: images of neither one nor three channels, or of a size that the model refuses.
    """

    Options = Options
    model: ClassVar[str]

    def __init__(self, options: Any, image_shape: ImageShape) -> None:
        super().__init__(options, image_shape)
        if image_shape[0] not in (1, 3):
            problem = f"torchvision models take 1 or 3 channels; these images have {image_shape[0]}"
            raise ConfigError("", "backbone", f"{problem}.")
        height, width = image_shape[1:]
        try:
            self.network, self.feature_dim = _without_classifier(self.model, image_shape)
            with torch.no_grad():
                self.network.eval()(torch.zeros(1, 3, height, width))
        except (RuntimeError, ValueError, AssertionError) as failure:
            reason = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
            problem = (
                f"torchvision:{self.model} does not take images of {height}x{width} ({reason})"
            )
            advice = "Use another image_size or model."
            raise ConfigError("", "backbone", f"{problem}. {advice}") from failure
        self.network.train()

    def forward(self, images: Images) -> Features:
        """Features ``[n, feature_dim]`` of images ``[n, c, h, w]``."""
        check_images(images, self.image_shape)
        return self.network(fastest_layout(images.expand(-1, 3, -1, -1)))


@cache
def torchvision_backbone(model: str) -> type[Backbone]:
    """The backbone class of a classification model of torchvision; the same one each time.

    Raises:
        UnknownName: torchvision has no classification model of that name.
    """
    if not is_torchvision_model(model):
        raise UnknownName("torchvision model", model, _models())
    return type(f"Torchvision_{model}", (TorchvisionBackbone,), {"model": model})


def is_torchvision_model(name: str) -> bool:
    """Whether torchvision has a classification model of that name."""
    return name in _models()


def _models() -> list[str]:
    models = load_torchvision("torchvision.models")
    return models.list_models(module=models)


def _without_classifier(model: str, image_shape: ImageShape) -> tuple[nn.Module, int]:
    """The model without its last layer, and the input width of that layer."""
    models = load_torchvision("torchvision.models")
    extra = _extra_arguments(model, image_shape)
    network = models.get_model(model, weights=None, num_classes=_CLASSES, **extra)
    name, width = _classifier(network)
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, nn.Identity())
    return network, width


def _classifier(network: nn.Module) -> tuple[str, int]:
    """Name and input width of the layer that gives the classes."""
    for name, layer in network.named_modules():
        if isinstance(layer, nn.Linear) and layer.out_features == _CLASSES:
            return name, layer.in_features
        if isinstance(layer, nn.Conv2d) and layer.out_channels == _CLASSES:
            return name, layer.in_channels
    raise TypeError(f"A {type(network).__name__} of torchvision has no classifier to take out.")


def _extra_arguments(model: str, image_shape: ImageShape) -> dict[str, Any]:
    """What some models need: the image size, or no auxiliary classifiers."""
    if model.startswith("vit_"):
        return {"image_size": image_shape[1]}
    if model.startswith("maxvit"):
        return {"input_size": image_shape[1:]}
    if model in ("googlenet", "inception_v3"):
        return {"aux_logits": False, "init_weights": True}
    return {}
