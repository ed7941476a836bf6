import pytest
import torch
from small import SHAPE, images, network

from fsl_sweep.learners.backbones.base import fastest_layout
from fsl_sweep.learners.backbones.catalogue import BACKBONES


@pytest.mark.parametrize("channels", [1, 3])
def test_on_the_cpu_a_convolution_stays_channels_last_with_plain_weights(channels):
    given = images(4, channels, 9).requires_grad_()
    laid_out = fastest_layout(given)
    assert torch.equal(laid_out, given)
    convolution = torch.nn.Conv2d(channels, 6, 3)
    assert convolution(laid_out).is_contiguous(memory_format=torch.channels_last)
    assert convolution.weight.is_contiguous()
    laid_out.square().sum().backward()
    assert torch.equal(given.grad, 2 * given.detach())


def test_identity_flattens_and_has_no_parameters():
    identity, features = network("identity", (7, 1, 1)), torch.randn(3, 7)
    assert torch.equal(identity(features.view(3, 7, 1, 1)), features)
    assert identity.feature_dim == 7
    assert not list(identity.parameters())


@pytest.mark.parametrize("name", BACKBONES.names())
def test_every_backbone_gives_the_features_that_it_declares_of_images_of_its_shape(name):
    backbone = network(name)
    assert backbone(torch.randn(3, *SHAPE)).shape == (3, backbone.feature_dim)
    with pytest.raises(ValueError, match=r"\[n, 1, 16, 16\].*\[2, 3, 16, 16\]"):
        backbone(torch.randn(2, 3, 16, 16))
