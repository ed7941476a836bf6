import math

import pytest
import torch
from torch.nn.functional import leaky_relu, max_pool2d

from fsl_sweep.learners.backbones.resnet12 import ResNet12, ResNet12Options


def build(shape=(1, 16, 16), **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ResNet12(ResNet12Options(**options), shape)


def images(shape=(1, 16, 16), count=4):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(1))


def test_parameter_count_for_colour_images():
    backbone = build((3, 84, 84))
    assert sum(p.numel() for p in backbone.parameters()) == 12_424_320


@pytest.mark.parametrize(
    ("side", "avg_pool", "features"),
    [(84, False, 16_000), (32, False, 2_560), (32, True, 640)],
)
def test_feature_lengths(side, avg_pool, features):
    backbone = build((3, side, side), avg_pool=avg_pool).eval()
    assert backbone.feature_dim == features
    with torch.inference_mode():
        assert backbone(images((3, side, side), 1)).shape == (1, features)


def test_features_equal_the_textbook_order_of_layers():
    backbone = build((2, 32, 32)).eval()
    maps = given = images((2, 32, 32))
    with torch.inference_mode():
        for stage in backbone.stages:
            shortcut = stage.shortcut(maps)
            for number, convolution in enumerate(stage.convolutions):
                maps = convolution(maps)
                maps = leaky_relu(maps + shortcut if number == 2 else maps, 0.1)
            maps = max_pool2d(maps, 2)
        torch.testing.assert_close(backbone(given), maps.flatten(1), rtol=1e-4, atol=1e-4)
        pooled = build((2, 32, 32), avg_pool=True).eval()(given)
    torch.testing.assert_close(pooled, maps.mean((2, 3)), rtol=1e-4, atol=1e-4)


def test_initial_convolutions_are_kaiming_normal_by_fan_out():
    backbone = build((3, 16, 16))
    for stage in backbone.stages:
        weight = stage.convolutions[1][0].weight
        expected = math.sqrt(2 / (weight.shape[0] * 9))
        assert abs(weight.std().item() / expected - 1) < 0.02


def test_the_counter_advances_in_training_mode_only():
    backbone, given = build(), images()
    backbone(given)
    backbone(given)
    assert backbone.state_dict()["drop.step"] == 2
    backbone.eval()
    backbone(given)
    assert backbone.state_dict()["drop.step"] == 2
    backbone.train()
    backbone(given)
    assert backbone.state_dict()["drop.step"] == 3


def test_training_drops_units_and_a_rate_of_zero_does_not():
    given = images()
    dropping = build(drop_rate=0.5)
    assert not torch.equal(dropping(given), dropping(given))
    plain = build(drop_rate=0)
    assert torch.equal(plain(given), plain(given))
    assert plain.state_dict()["drop.step"] == 0


def test_block_sizes_follow_the_image_size_unless_given():
    assert build((3, 84, 84)).block_size == 5
    assert build((3, 32, 32)).block_size == 2
    assert build((3, 32, 32), block_size=3).block_size == 3
