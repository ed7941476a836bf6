"""Any classification model of torchvision, named ``torchvision:<model>``, without its classifier.

The features are the input of the model's last linear layer (the last convolution, in SqueezeNet):
the "second last layer of popular CNN backbones" of "Advances in MetaDL: AAAI 2021 challenge and
workshop". Weights are drawn at random, or come from the file that ``weights`` names; nothing is
downloaded.
"""

from functools import cache
from typing import Any

from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape
from fsl_sweep.learners.backbones.library import LibraryBackbone
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.orchestrator.errors import UnknownName

# No layer of any model has this width, so it identifies the classifier.
_CLASSES = 977


class TorchvisionBackbone(LibraryBackbone):
    """One model of torchvision; `torchvision_backbone` makes the class for a name."""

    library = "torchvision"

    def _without_classifier(self, image_shape: ImageShape) -> nn.Module:
        models = load_torchvision("torchvision.models")
        extra = _extra_arguments(self.model, image_shape)
        network = models.get_model(self.model, weights=None, num_classes=_CLASSES, **extra)
        parent, _, last = _classifier(network).rpartition(".")
        setattr(network.get_submodule(parent), last, nn.Identity())
        return network


@cache
def torchvision_backbone(model: str) -> type[Backbone]:
    """Return the backbone class of a classification model of torchvision, the same one each time.

    Raises:
        UnknownName: torchvision has no classification model of that name.
    """
    if not is_torchvision_model(model):
        raise UnknownName("torchvision model", model, _models())
    return type(f"Torchvision_{model}", (TorchvisionBackbone,), {"model": model})


def is_torchvision_model(name: str) -> bool:
    """Check whether torchvision has a classification model of that name."""
    return name in _models()


def _models() -> list[str]:
    models = load_torchvision("torchvision.models")
    return models.list_models(module=models)


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
