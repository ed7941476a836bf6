import pytest
import torch
from small import generator, normal
from torch.nn.functional import batch_norm, conv2d, max_pool2d, relu

from fsl_sweep.learners.backbones.conv4 import Conv4, Conv4Options


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 35, 32)])
def test_features_and_gradients_equal_the_textbook_order_of_layers(shape):
    backbone = Conv4(Conv4Options(width=8), shape).double()
    images = maps = normal(5, *shape)
    for convolution, norm, *_ in backbone.blocks:
        maps = conv2d(maps, convolution.weight, convolution.bias, padding=1)
        maps = batch_norm(maps, None, None, norm.weight, norm.bias, training=True)
        maps = max_pool2d(relu(maps), 2)
    expected, features = maps.flatten(1), backbone(images)
    torch.testing.assert_close(features, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn_like(expected)
    slopes = (
        torch.autograd.grad((values * weight).sum(), list(backbone.parameters()))
        for values in (features, expected)
    )
    torch.testing.assert_close(*slopes, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 35, 32)])
@pytest.mark.parametrize("least", [0.1, 0.0, -0.5])
def test_an_evaluated_network_pools_first_where_that_changes_no_bit(shape, least):
    draws = generator()
    backbone = Conv4(Conv4Options(width=24), shape)
    with torch.no_grad():
        backbone(2 * torch.randn(20, *shape, generator=draws))  # running averages of their own
        for _, norm, *_ in backbone.blocks:
            norm.weight.uniform_(0.1, 2, generator=draws)[3] = least
            norm.bias.normal_(generator=draws)
    backbone.eval()
    sides = []
    norm = backbone.blocks[0][1]
    norm.register_forward_hook(lambda _, inputs, __: sides.append(inputs[0].shape[2]))
    images = torch.randn(9, *shape, generator=draws)
    with torch.no_grad():
        features = backbone(images)
    trainable = backbone(images)
    assert sides == [shape[1] // 2 if least > 0 else shape[1], shape[1]]
    assert torch.equal(features, trainable)
