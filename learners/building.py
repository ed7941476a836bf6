"""From the names and options of a sweep file to a learner with its initial weights."""

from collections.abc import Mapping
from typing import Any

import torch

from fsl_sweep.datasets.benchmark import PixelStatistics
from fsl_sweep.learners.backbones.base import Backbone, ImageShape
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.learners.backbones.weights import load_weights
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
    """Build a learner on the CPU, in training mode, with weights drawn from ``seed``.

    Args:
        learner: ``name`` and options, such as ``{"name": "protonet", "scale": 10}``.
        backbone: the same, such as ``{"name": "conv4", "width": 64}``.
        image_shape: (channels, height, width).
        n_base_classes: classes of a classifier in training, at least 1.
        seed: 0 .. 2**64 - 1. torch's global generators do not change.

    Raises:
        UnknownName, ConfigError, pydantic.ValidationError, PluginError, MachineFailure: as
            `build_backbone`.
    """
    learner_cls, learner_options = resolve(LEARNERS, learner)
    # Only the CPU generator is borrowed: torch.manual_seed would seed every GPU as well.
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        network, _ = build_backbone(backbone, image_shape)
        with LEARNERS.named_faults(learner["name"]):
            return learner_cls(network, learner_options, n_base_classes)


def pixel_statistics(backbone: Mapping[str, Any]) -> PixelStatistics | None:
    """Return what a backbone's images are normalised by; None is the benchmark's statistics."""
    by = resolve(BACKBONES, backbone)[1].normalisation
    return None if by is None else (tuple(by.mean), tuple(by.std))


def build_backbone(
    backbone: Mapping[str, Any], image_shape: ImageShape
) -> tuple[Backbone, list[str]]:
    """Build a backbone with its initial weights; name what their file holds besides.

    Weights that come from no file are drawn from torch's global generator.

    Raises:
        UnknownName, ConfigError, pydantic.ValidationError: as `resolve`.
        ConfigError: it cannot take these images, or the weights of the file.
        PluginError: it is a plug-in, whose constructor raised another error.
        MachineFailure: as `load_weights`.
    """
    cls, options = resolve(BACKBONES, backbone)
    unused = list[str]()
    with BACKBONES.named_faults(backbone["name"]):
        network = cls(options, image_shape)
    if options.weights is not None:
        unused = load_weights(network, options.weights, options.weights_sha256)
    if options.frozen:
        network.freeze()
    return network, unused
