import pytest
import torch
from torch.nn.functional import batch_norm, conv2d, max_pool2d, relu

from fsl_sweep.learners.backbones.conv4 import Conv4, Conv4Options


@pytest.mark.parametrize(
    ("side", "positions"), [(28, 1), (32, 4), (84, 25), (16, 1)], ids=lambda value: str(value)
)
@pytest.mark.parametrize("width", [48, 64])
def test_feature_lengths(side, positions, width):
    backbone = Conv4(Conv4Options(width=width), (3, side, side)).eval()
    features = backbone(torch.rand(2, 3, side, side))
    assert backbone.feature_dim == features.shape[1] == positions * width


def test_parameter_count_of_conv64():
    backbone = Conv4(Conv4Options(), (3, 84, 84))
    # Weights and biases of the convolutions, scale and shift of the batch norms.
    expected = (3 * 9 * 64 + 64) + 3 * (64 * 9 * 64 + 64) + 4 * 2 * 64
    assert sum(p.numel() for p in backbone.parameters()) == expected == 113_088


def test_initial_convolutions_are_kaiming_normal_by_fan_out():
    for convolution, *_ in Conv4(Conv4Options(width=256), (1, 28, 28)).blocks:
        expected = (2 / (256 * 9)) ** 0.5
        assert convolution.weight.std().item() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 35, 32)])
def test_features_and_gradients_equal_the_textbook_order_of_layers(shape):
    backbone = Conv4(Conv4Options(width=8), shape).double()
    images = torch.randn(5, *shape, dtype=torch.float64)
    maps = images
    for convolution, norm, *_ in backbone.blocks:
        maps = conv2d(maps, convolution.weight, convolution.bias, padding=1)
        maps = batch_norm(maps, None, None, norm.weight, norm.bias, training=True)
        maps = max_pool2d(relu(maps), 2)
    expected = maps.flatten(1)
    features = backbone(images)
    torch.testing.assert_close(features, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn_like(expected)
    parameters = list(backbone.parameters())
    torch.testing.assert_close(
        torch.autograd.grad((features * weight).sum(), parameters),
        torch.autograd.grad((expected * weight).sum(), parameters),
        rtol=1e-7,
        atol=1e-8,
    )


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 35, 32)])
@pytest.mark.parametrize("least", [0.1, 0.0, -0.5])
def test_an_evaluated_network_pools_first_where_that_changes_no_bit(shape, least):
    draws = torch.Generator().manual_seed(0)
    backbone = Conv4(Conv4Options(width=24), shape)
    with torch.no_grad():
        backbone(2 * torch.randn(20, *shape, generator=draws))  # running averages of their own
        for _, norm, *_ in backbone.blocks:
            norm.weight.uniform_(0.1, 2, generator=draws)[3] = least
            norm.bias.normal_(generator=draws)
    backbone.eval()
    sides = []
    backbone.blocks[0][1].register_forward_hook(
        lambda _, given, __: sides.append(given[0].shape[2])
    )
    images = torch.randn(9, *shape, generator=draws)
    with torch.no_grad():
        features = backbone(images)
    assert sides == [shape[1] // 2 if least > 0 else shape[1]]
    trainable = backbone(images)
    assert sides[1] == shape[1]
    assert torch.equal(features, trainable)
