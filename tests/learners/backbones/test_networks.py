"""What backbones have in common, and our own as the textbook orders their layers."""

import math

import pytest
import torch
from small import generator, images, narrow, network
from torch.nn.functional import batch_norm, conv2d, leaky_relu, max_pool2d, relu

from fsl_sweep.learners.backbones.base import fastest_layout
from fsl_sweep.learners.backbones.catalogue import BACKBONES
from fsl_sweep.orchestrator.errors import ConfigError


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


@pytest.mark.parametrize("name", BACKBONES.names())
def test_every_backbone_has_the_features_and_weights_that_it_declares_for_its_images(name):
    backbone = network(name)
    assert backbone(images(3)).shape == (3, backbone.feature_dim)
    assert bool(list(backbone.parameters())) is backbone.has_weights
    with pytest.raises(ValueError, match=r"\[n, 1, 16, 16\].*\[2, 3, 16, 16\]"):
        backbone(images(2, 3))


@pytest.mark.parametrize("name", ["conv4", "resnet12"])
def test_images_too_small_to_be_halved_say_so(name):
    with pytest.raises(ConfigError, match="at least 16 pixels; these are 15x84"):
        network(name, (3, 15, 84))


@pytest.mark.parametrize(
    ("name", "options", "side", "length"),
    [
        *(("conv4", {"width": w}, s, (s // 16) ** 2 * w) for w in (48, 64) for s in (28, 32, 84)),
        ("resnet12", {}, 84, 16_000),
        ("resnet12", {}, 32, 2_560),
        ("resnet12", {"avg_pool": True}, 32, 640),
    ],
)
def test_feature_lengths(name, options, side, length):
    built = network(name, (3, side, side), **options).eval()
    with torch.inference_mode():
        assert built.feature_dim == built(images(1, 3, side)).shape[1] == length


@pytest.mark.parametrize(
    ("name", "count"), [("conv4", 113_088), ("resnet12", 12_424_320), ("wrn-16-10", 17_110_224)]
)
def test_networks_for_colour_images_have_the_published_numbers_of_kaiming_weights(name, count):
    built = network(name, (3, 84, 84))
    assert sum(parameter.numel() for parameter in built.parameters()) == count
    for convolution in built.modules():
        if isinstance(convolution, torch.nn.Conv2d):
            weight = convolution.weight  # normal, by fan-out
            units = weight / math.sqrt(2 / (len(weight) * weight[0, 0].numel()))
            assert abs(units.std() - 1) < 4 / math.sqrt(2 * units.numel())
            assert abs(units.mean()) < 4 / math.sqrt(units.numel())


def by_conv4(built, maps):
    for convolution, norm, *_ in built.blocks:
        maps = conv2d(maps, convolution.weight, convolution.bias, padding=1)
        maps = batch_norm(maps, None, None, norm.weight, norm.bias, training=True)
        maps = max_pool2d(relu(maps), 2)
    return maps.flatten(1)


def by_resnet12(built, maps):
    for stage in built.stages:
        shortcut = stage.shortcut(maps)
        for number, convolution in enumerate(stage.convolutions):
            maps = convolution(maps)
            maps = leaky_relu(maps + shortcut if number == 2 else maps, 0.1)
        maps = max_pool2d(maps, 2)
    return maps.mean((2, 3)) if built.avg_pool else maps.flatten(1)


def by_wrn(built, maps):
    weights = built.state_dict(keep_vars=True)

    def ready(maps, norm):
        scale, shift = weights[f"{norm}.weight"], weights[f"{norm}.bias"]
        return batch_norm(maps, None, None, scale, shift, training=True).relu()

    maps = conv2d(maps, weights["stem.weight"], padding=1)
    for number, stride in enumerate([1, 1, 2, 1, 2, 1]):
        block = f"blocks.{number}"
        start = ready(maps, f"{block}.norm1")
        inner = conv2d(start, weights[f"{block}.convolution1.weight"], stride=stride, padding=1)
        inner = ready(inner, f"{block}.norm2")
        inner = conv2d(inner, weights[f"{block}.convolution2.weight"], padding=1)
        if number % 2 == 0:
            maps = conv2d(start, weights[f"{block}.projection.weight"], stride=stride)
        maps = maps + inner
    assert maps.shape[2:] == (2, 2)
    return ready(maps, "norm").mean(dim=(2, 3))


@pytest.mark.parametrize(
    ("textbook", "name", "options", "shape"),
    [
        (by_conv4, "conv4", {"width": 8}, (1, 28, 28)),
        (by_conv4, "conv4", {"width": 8}, (3, 35, 32)),
        (by_resnet12, "resnet12", {"drop_rate": 0}, (2, 32, 16)),
        (by_resnet12, "resnet12", {"drop_rate": 0, "avg_pool": True}, (2, 32, 16)),
        (by_wrn, "wrn-16-10", {}, (3, 8, 8)),
    ],
)
def test_features_and_gradients_equal_the_textbook_order_of_layers(
    textbook, name, options, shape, monkeypatch
):
    narrow(monkeypatch)
    built = network(name, shape, **options).double()
    given = images(3, *shape).double()
    features, expected = built(given), textbook(built, given)
    torch.testing.assert_close(features, expected, rtol=1e-9, atol=1e-9)
    weight = torch.randn_like(expected)
    slopes = (
        torch.autograd.grad((values * weight).sum(), list(built.parameters()))
        for values in (features, expected)
    )
    torch.testing.assert_close(*slopes, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 35, 32)])
@pytest.mark.parametrize("least", [0.1, 0.0, -0.5])
def test_an_evaluated_conv4_pools_first_where_that_changes_no_bit(shape, least):
    draws, sides = generator(), []
    conv4 = network("conv4", shape, width=24)
    with torch.no_grad():
        conv4(2 * torch.randn(20, *shape, generator=draws))  # running averages of their own
        for _, norm, *_ in conv4.blocks:
            norm.weight.uniform_(0.1, 2, generator=draws)[3] = least
            norm.bias.normal_(generator=draws)
    norm = conv4.eval().blocks[0][1]
    norm.register_forward_hook(lambda _, inputs, __: sides.append(inputs[0].shape[2]))
    given = torch.randn(9, *shape, generator=draws)
    with torch.no_grad():
        features = conv4(given)
    trainable = conv4(given)
    assert sides == [shape[1] // 2 if least > 0 else shape[1], shape[1]]
    assert torch.equal(features, trainable)


@pytest.mark.parametrize(("rate", "counted"), [(0.5, [1, 2, 2, 3]), (0, [0, 0, 0, 0])])
def test_training_drops_units_and_counts_its_steps_unless_the_rate_is_zero(rate, counted):
    resnet, features, counts = network("resnet12", drop_rate=rate), [], []
    for training in (True, True, False, True):
        features.append(resnet.train(training)(images(4)))
        counts.append(resnet.state_dict()["drop.step"].item())
    assert counts == counted
    assert torch.equal(*features[:2]) is (rate == 0)


@pytest.mark.parametrize(
    ("side", "options", "size"), [(84, {}, 5), (32, {}, 2), (32, {"block_size": 3}, 3)]
)
def test_block_sizes_follow_the_image_size_unless_given(side, options, size):
    assert network("resnet12", (3, side, side), **options).block_size == size
