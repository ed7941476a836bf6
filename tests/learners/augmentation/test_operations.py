"""The batched image operations against torchvision's, image by image."""

from itertools import permutations

import pytest
import torch
from small import generator

from fsl_sweep.learners.augmentation import catalogue as ops
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision

tv = load_torchvision("torchvision.transforms.functional")
OPERATIONS = {
    ops.BRIGHTNESS: tv.adjust_brightness,
    ops.CONTRAST: tv.adjust_contrast,
    ops.SATURATION: tv.adjust_saturation,
}
PLAIN = torch.arange(3).expand(6, 3)


def images(count=6, channels=3):
    return torch.rand(count, channels, 12, 10, generator=generator())


def assert_jittered(before, factors, order):
    after = ops.jitter(before, factors, order)
    for image, jittered, factor, operations in zip(before, after, factors, order, strict=True):
        for operation in operations.tolist():
            image = OPERATIONS[operation](image, factor[operation].item())
        torch.testing.assert_close(jittered, image, rtol=1e-5, atol=2e-6)
    assert not torch.allclose(after, before)


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_applies_each_images_factors_in_its_own_order(channels):
    factors = torch.empty(6, 3).uniform_(0.6, 1.4, generator=generator(1))
    order = torch.tensor(list(permutations(OPERATIONS)))
    assert_jittered(images(channels=channels), factors, order)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.4])
def test_each_operation_alone(operation, factor):
    factors = torch.ones(6, 3)
    factors[:, operation] = factor
    assert_jittered(images(), factors, PLAIN)


def test_saturation_leaves_grey_images_exactly_as_they_are():
    grey = images(channels=1)
    assert torch.equal(ops.jitter(grey, torch.tensor([[1.0, 1.0, 0.3]]).expand(6, 3), PLAIN), grey)


def test_jitter_refuses_other_numbers_of_channels():
    with pytest.raises(ValueError, match="1 or 3 channels; these have 2"):
        ops.jitter(images(channels=2), torch.ones(6, 3), PLAIN)


def test_crop_equals_padding_and_cropping():
    before = images()
    top, left = torch.tensor([0, 8, 4, 1, 7, 3]), torch.tensor([8, 0, 4, 2, 5, 6])
    cropped = ops.crop(before, top, left, padding=4)
    for image, window, y, x in zip(before, cropped, top.tolist(), left.tolist(), strict=True):
        assert torch.equal(window, tv.crop(tv.pad(image, [4, 4, 4, 4]), y, x, 12, 10))
    assert torch.equal(cropped[2], before[2])


def test_flip_mirrors_the_chosen_images():
    first, second, third = images(count=3)
    flipped = ops.flip(images(count=3), torch.tensor([True, False, True]))
    assert torch.equal(flipped, torch.stack([tv.hflip(first), second, tv.hflip(third)]))


def test_resized_crop_equals_cutting_and_scaling():
    before = images(count=5)
    boxes = torch.tensor([[0, 0, 12, 10], [3, 2, 5, 7], [11, 9, 1, 1], [2, 0, 10, 3], [0, 4, 7, 6]])
    resized = ops.resized_crop(before, boxes)
    assert torch.allclose(resized[0], before[0], atol=1e-5)
    for image, scaled, box in zip(before, resized, boxes.tolist(), strict=True):
        expected = tv.resized_crop(image, *box, size=[12, 10], antialias=True)
        torch.testing.assert_close(scaled, expected, rtol=0, atol=1e-5)
