"""From the names and options of a sweep file to a learner with its initial weights."""

from collections.abc import Mapping
from typing import Any

import torch

from fsl_sweep.learners.backbones.base import ImageShape
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.base import Learner
from fsl_sweep.learners.catalogue import LEARNERS
from fsl_sweep.learners.options import resolve


def build_learner(
    learner: Mapping[str, Any],
    backbone: Mapping[str, Any],
    image_shape: ImageShape,
    n_base_classes: int,
    seed: int,
) -> Learner[Any]:
    """A learner on the CPU, in training mode, with weights drawn from ``seed``.

    Args:
        learner: ``name`` and options, such as ``{"name": "protonet", "scale": 10}``.
        backbone: the same, such as ``{"name": "conv4", "width": 64}``.
        image_shape: (channels, height, width).
        n_base_classes: classes of a classifier in training, at least 1.
        seed: 0 .. 2**64 - 1. torch's global generators do not change.

    Raises:
        UnknownName, ConfigError, pydantic.ValidationError: as `resolve`.
        ConfigError: the backbone cannot take these images.
    """
    learner_cls, learner_options = resolve(LEARNERS, learner)
    backbone_cls, backbone_options = resolve(BACKBONES, backbone)
    # Only the CPU generator is borrowed: torch.manual_seed would seed every GPU as well.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        network = backbone_cls(backbone_options, image_shape)
        return learner_cls(network, learner_options, n_base_classes)
