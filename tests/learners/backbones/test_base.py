import pytest
import torch

from fsl_sweep.learners.backbones.base import fastest_layout
from fsl_sweep.learners.backbones.identity import Identity
from fsl_sweep.learners.options import Options


@pytest.mark.parametrize("channels", [1, 3])
def test_on_the_cpu_a_convolution_stays_channels_last_with_plain_weights(channels):
    images = torch.rand(4, channels, 9, 8)
    laid_out = fastest_layout(images)
    assert torch.equal(laid_out, images)
    convolution = torch.nn.Conv2d(channels, 6, 3)
    maps = convolution(laid_out)
    assert maps.is_contiguous(memory_format=torch.channels_last)
    assert convolution.weight.is_contiguous()


def test_gradients_pass_through_the_layout():
    images = torch.rand(2, 3, 4, 4, requires_grad=True)
    fastest_layout(images).square().sum().backward()
    assert torch.equal(images.grad, 2 * images.detach())


def test_identity_flattens_and_has_no_parameters():
    backbone = Identity(Options(), (7, 1, 1))
    features = torch.randn(3, 7)
    assert torch.equal(backbone(features.view(3, 7, 1, 1)), features)
    assert backbone.feature_dim == 7
    assert not list(backbone.parameters())
