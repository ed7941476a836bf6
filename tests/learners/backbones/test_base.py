"""What backbones have in common: sizes, first weights and the layout of images."""

import math

import pytest
import torch
from small import SHAPE, backbone, normal

from fsl_sweep.learners.backbones.base import fastest_layout
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.orchestrator.errors import ConfigError


@pytest.mark.parametrize("channels", [1, 3])
def test_on_the_cpu_a_convolution_stays_channels_last_with_plain_weights(channels):
    images = torch.rand(4, channels, 9, 8, requires_grad=True)
    laid_out = fastest_layout(images)
    assert torch.equal(laid_out, images)
    convolution = torch.nn.Conv2d(channels, 6, 3)
    assert convolution(laid_out).is_contiguous(memory_format=torch.channels_last)
    assert convolution.weight.is_contiguous()
    laid_out.square().sum().backward()
    assert torch.equal(images.grad, 2 * images.detach())


def test_identity_flattens_and_has_no_parameters():
    identity, features = backbone("identity", (7, 1, 1)), torch.randn(3, 7)
    assert torch.equal(identity(features.view(3, 7, 1, 1)), features)
    assert identity.feature_dim == 7
    assert not list(identity.parameters())


@pytest.mark.parametrize("name", BACKBONES.names())
def test_every_backbone_gives_the_features_that_it_declares_of_images_of_its_shape(name):
    network = backbone(name)
    assert network(torch.randn(3, *SHAPE)).shape == (3, network.feature_dim)
    with pytest.raises(ValueError, match=r"\[n, 1, 16, 16\].*\[2, 3, 16, 16\]"):
        network(torch.randn(2, 3, 16, 16))


@pytest.mark.parametrize("name", ["conv4", "resnet12"])
def test_images_too_small_to_be_halved_say_so(name):
    with pytest.raises(ConfigError, match="at least 16 pixels; these are 15x84"):
        backbone(name, (3, 15, 84))


@pytest.mark.parametrize(
    ("name", "options", "side", "length"),
    [
        *(("conv4", {"width": w}, 16 * n, n**2 * w) for w in (48, 64) for n in (1, 2, 5)),
        ("conv4", {}, 28, 64),
        ("conv4", {}, 84, 1_600),
        ("resnet12", {}, 84, 16_000),
        ("resnet12", {}, 32, 2_560),
        ("resnet12", {"avg_pool": True}, 32, 640),
    ],
)
def test_feature_lengths(name, options, side, length):
    network = backbone(name, (3, side, side), **options).eval()
    with torch.inference_mode():
        features = network(normal(1, 3, side, side, dtype=torch.float32))
    assert network.feature_dim == features.shape[1] == length


@pytest.mark.parametrize(
    ("name", "count"), [("conv4", 113_088), ("resnet12", 12_424_320), ("wrn-16-10", 17_110_224)]
)
def test_networks_for_colour_images_have_the_published_numbers_of_kaiming_weights(name, count):
    network = backbone(name, (3, 84, 84))
    assert sum(parameter.numel() for parameter in network.parameters()) == count
    for convolution in network.modules():
        if isinstance(convolution, torch.nn.Conv2d):
            weight = convolution.weight  # normal, by fan-out
            units = weight / math.sqrt(2 / (len(weight) * weight[0, 0].numel()))
            assert abs(units.std() - 1) < 4 / math.sqrt(2 * units.numel())
            assert abs(units.mean()) < 4 / math.sqrt(units.numel())
