import pytest
import torch
from small import SHAPE, backbone, normal
from torch.nn.functional import leaky_relu, max_pool2d


def images(shape=SHAPE):
    return normal(4, *shape, seed=1, dtype=torch.float32)


def test_features_equal_the_textbook_order_of_layers():
    network, pooling = (
        backbone("resnet12", (2, 32, 32), avg_pool=pool).eval() for pool in (False, True)
    )
    maps = images((2, 32, 32))
    with torch.inference_mode():
        features, pooled = network(maps), pooling(maps)
        for stage in network.stages:
            shortcut = stage.shortcut(maps)
            for number, convolution in enumerate(stage.convolutions):
                maps = convolution(maps)
                maps = leaky_relu(maps + shortcut if number == 2 else maps, 0.1)
            maps = max_pool2d(maps, 2)
        torch.testing.assert_close(features, maps.flatten(1), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(pooled, maps.mean((2, 3)), rtol=1e-4, atol=1e-4)


def test_the_counter_advances_in_training_mode_only():
    network, counts = backbone("resnet12"), []
    for training in (True, True, False, True):
        network.train(training)(images())
        counts.append(network.state_dict()["drop.step"].item())
    assert counts == [1, 2, 2, 3]


def test_training_drops_units_and_a_rate_of_zero_does_not():
    dropping, plain = (backbone("resnet12", drop_rate=rate) for rate in (0.5, 0))
    assert not torch.equal(dropping(images()), dropping(images()))
    assert torch.equal(plain(images()), plain(images()))
    assert plain.state_dict()["drop.step"] == 0


@pytest.mark.parametrize(
    ("side", "options", "size"), [(84, {}, 5), (32, {}, 2), (32, {"block_size": 3}, 3)]
)
def test_block_sizes_follow_the_image_size_unless_given(side, options, size):
    assert backbone("resnet12", (3, side, side), **options).block_size == size
