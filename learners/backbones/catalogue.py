"""The backbones that a sweep file can name.

Their modules are imported when they are used: listing them does not import torch.
"""

from typing import TYPE_CHECKING

from fsl_sweep.orchestrator.catalogue import Catalogue, Family, Ours

if TYPE_CHECKING:
    from fsl_sweep.learners.backbones.base import Backbone


def _torchvision_backbone(model: str) -> "type[Backbone]":
    from fsl_sweep.learners.backbones.torchvision import torchvision_backbone

    return torchvision_backbone(model)


def _is_torchvision_model(name: str) -> bool:
    from fsl_sweep.learners.backbones.torchvision import is_torchvision_model

    return is_torchvision_model(name)


def _timm_backbone(model: str) -> "type[Backbone]":
    from fsl_sweep.learners.backbones.timm import timm_backbone

    return timm_backbone(model)


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
            _torchvision_backbone,
            "",
            "a classification model of torchvision without its classifier",
            _is_torchvision_model,
        ),
        Family(
            "timm",
            "model",
            _timm_backbone,
            "",
            "a model of timm without its classifier; needs fsl-sweep[backbones]",
        ),
    ],
)
