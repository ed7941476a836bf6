"""Any model of timm (PyTorch Image Models), named ``timm:<model>``, without its classifier.

The features are what the model gives when it is made for no classes. Weights are drawn at random,
or come from the file that ``weights`` names; timm's own are not downloaded.
"""

from functools import cache
from types import ModuleType

from torch import nn

from fsl_sweep.learners.backbones.base import Backbone, ImageShape
from fsl_sweep.learners.backbones.library import LibraryBackbone
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision
from fsl_sweep.orchestrator.errors import ConfigError, UnknownName


class TimmBackbone(LibraryBackbone):
    """One model of timm; `timm_backbone` makes the class for a name."""

    library = "timm"

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
def timm_backbone(model: str) -> type[Backbone]:
    """Return the backbone class of a model of timm; the same one each time.

    Raises:
        UnknownName: timm has no model of that name.
        ConfigError: as `load_timm`.
    """
    models = load_timm().list_models()
    if model not in models:
        raise UnknownName("timm model", model, models)
    return type(f"Timm_{model}", (TimmBackbone,), {"model": model})


def load_timm() -> ModuleType:
    """Import ``timm``, which imports torchvision.

    Raises:
        ConfigError: it is not installed.
    """
    load_torchvision()
    try:
        import timm
    except ModuleNotFoundError as failure:
        if failure.name != "timm":
            raise
        problem = "models of timm need that package, which is not installed"
        advice = "pip install 'fsl-sweep[backbones]'"
        raise ConfigError("", "backbone.name", f"{problem}: {advice}") from None
    return timm
