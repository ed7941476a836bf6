import pytest
import torch

from fsl_sweep.learners.backbones.layout import fastest_layout


@pytest.mark.parametrize("channels", [1, 3])
def test_on_the_cpu_a_convolution_goes_on_channels_last_with_plain_weights(channels):
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
