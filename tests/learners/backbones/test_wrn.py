from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.nn.functional import batch_norm, conv2d

from fsl_sweep.learners.backbones.wrn import WRN16x10
from fsl_sweep.learners.options import Options


@pytest.fixture(scope="module")
def backbone():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return WRN16x10(Options(), (3, 32, 32)).eval()


def images(side=32, count=2):
    return torch.randn(count, 3, side, side, generator=torch.Generator().manual_seed(1))


def test_parameter_count_for_colour_images(backbone):
    # By hand: convolutions of 3x3, projections of 1x1, two numbers a channel and batch norm.
    widths, total = [16, 160, 320, 640], 3 * 16 * 9
    for before, after in pairwise(widths):
        total += before * after * 9 + 3 * after * after * 9 + before * after
        total += 2 * before + 3 * 2 * after
    total += 2 * 640
    assert total == 17_110_224
    assert sum(p.numel() for p in backbone.parameters()) == total


def test_features_equal_the_textbook_network(backbone):
    weights = backbone.state_dict()

    def ready(maps, norm):
        return batch_norm(
            maps,
            weights[f"{norm}.running_mean"],
            weights[f"{norm}.running_var"],
            weights[f"{norm}.weight"],
            weights[f"{norm}.bias"],
        ).relu()

    given = images()
    maps = conv2d(given, weights["stem.weight"], padding=1)
    for number, stride in enumerate([1, 1, 2, 1, 2, 1]):
        name = f"blocks.{number}"
        start = ready(maps, f"{name}.norm1")
        inner = conv2d(start, weights[f"{name}.convolution1.weight"], stride=stride, padding=1)
        inner = ready(inner, f"{name}.norm2")
        inner = conv2d(inner, weights[f"{name}.convolution2.weight"], padding=1)
        if number % 2 == 0:
            maps = conv2d(start, weights[f"{name}.projection.weight"], stride=stride)
        maps = maps + inner
    assert maps.shape == (2, 640, 8, 8)
    expected = ready(maps, "norm").mean(dim=(2, 3))
    with torch.inference_mode():
        torch.testing.assert_close(backbone(given), expected, rtol=1e-4, atol=1e-4)


def test_initial_convolutions_are_kaiming_normal_by_fan_out(backbone):
    for block in backbone.blocks:
        weight = block.convolution2.weight
        np.testing.assert_allclose(weight.std().item(), (2 / (weight.shape[0] * 9)) ** 0.5, 0.02)
