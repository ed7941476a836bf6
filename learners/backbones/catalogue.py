"""The backbones that a sweep file can name.

Their modules are imported when they are used: listing them does not import torch.
"""

from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.catalogue import Catalogue, Family, Ours

if TYPE_CHECKING:
    from fsl_sweep.learners.backbones.base import Backbone


def _torchvision(model: str) -> "type[Backbone]":
    from fsl_sweep.learners.backbones.library import Torchvision, library_backbone

    return library_backbone(Torchvision, model)


def _is_of_torchvision(model: str) -> bool:
    from fsl_sweep.learners.backbones.library import Torchvision

    return model in Torchvision.models()


def _timm(model: str) -> "type[Backbone]":
    from fsl_sweep.learners.backbones.library import Timm, library_backbone

    return library_backbone(Timm, model)


BACKBONES: "Catalogue[Backbone]" = Catalogue(
    "backbone",
    "fsl_sweep.backbones",
    [
        Ours(
            "conv4",
            "fsl_sweep.learners.backbones.conv4:Conv4",
            "Prototypical Networks for Few-shot Learning, arXiv 1703.05175, section 3.1",
            "four convolutional blocks",
        ),
        Ours(
            "resnet12",
            "fsl_sweep.learners.backbones.resnet12:ResNet12",
            "Meta-Learning with Differentiable Convex Optimization, arXiv 1904.03758",
            "residual network of 12 layers with DropBlock",
        ),
        Ours(
            "wrn-16-10",
            "fsl_sweep.learners.backbones.wrn:WRN16x10",
            "Wide Residual Networks, arXiv 1605.07146",
            "wide residual network of 16 layers, widening factor 10",
        ),
        Ours(
            "identity",
            "fsl_sweep.learners.backbones.identity:Identity",
            "",
            "images are precomputed features; nothing to train",
        ),
    ],
    [
        Family(
            "torchvision",
            "model",
            _torchvision,
            "",
            "a classification model of torchvision without its classifier",
            _is_of_torchvision,
        ),
        Family(
            "timm",
            "model",
            _timm,
            "",
            "a model of timm without its classifier; needs fsl-sweep[backbones]",
        ),
    ],
)
