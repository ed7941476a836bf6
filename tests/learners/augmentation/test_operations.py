"""The batched image operations against torchvision's, image by image."""

from itertools import permutations

import pytest
import torch

from fsl_sweep.learners.augmentation import operations as image_ops
from fsl_sweep.learners.augmentation.operations import BRIGHTNESS, CONTRAST, SATURATION
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision

tv = load_torchvision("torchvision.transforms.functional")
OPERATIONS = {
    BRIGHTNESS: tv.adjust_brightness,
    CONTRAST: tv.adjust_contrast,
    SATURATION: tv.adjust_saturation,
}


def images(count=6, channels=3, height=12, width=10):
    draws = torch.Generator().manual_seed(0)
    return torch.rand(count, channels, height, width, generator=draws)


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_applies_each_images_factors_in_its_own_order(channels):
    given = images(channels=channels)
    order = torch.tensor(list(permutations((BRIGHTNESS, CONTRAST, SATURATION))))
    factors = torch.empty(6, 3).uniform_(0.6, 1.4, generator=torch.Generator().manual_seed(1))
    jittered = image_ops.jitter(given, factors, order)
    for image, out, own_factors, own_order in zip(given, jittered, factors, order, strict=True):
        expected = image
        for operation in own_order.tolist():
            expected = OPERATIONS[operation](expected, own_factors[operation].item())
        torch.testing.assert_close(out, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("operation", [BRIGHTNESS, CONTRAST, SATURATION])
@pytest.mark.parametrize("factor", [0.0, 0.6, 1.4])
def test_each_operation_alone(operation, factor):
    given = images()
    factors = torch.ones(6, 3)
    factors[:, operation] = factor
    jittered = image_ops.jitter(given, factors, torch.arange(3).expand(6, 3))
    expected = torch.stack([OPERATIONS[operation](image, factor) for image in given])
    torch.testing.assert_close(jittered, expected, rtol=1e-5, atol=2e-6)
    assert not torch.allclose(jittered, given)


def test_saturation_leaves_grey_images_exactly_as_they_are():
    given = images(channels=1)
    factors = torch.tensor([[1.0, 1.0, 0.3]]).expand(6, 3)
    assert torch.equal(image_ops.jitter(given, factors, torch.arange(3).expand(6, 3)), given)


def test_jitter_refuses_other_numbers_of_channels():
    with pytest.raises(ValueError, match="1 or 3 channels; these have 2"):
        image_ops.jitter(images(channels=2), torch.ones(6, 3), torch.arange(3).expand(6, 3))


def test_crop_equals_padding_and_cropping():
    given = images()
    top, left = torch.tensor([0, 8, 4, 1, 7, 3]), torch.tensor([8, 0, 4, 2, 5, 6])
    cropped = image_ops.crop(given, top, left, padding=4)
    for image, out, y, x in zip(given, cropped, top.tolist(), left.tolist(), strict=True):
        assert torch.equal(out, tv.crop(tv.pad(image, [4, 4, 4, 4]), y, x, 12, 10))
    assert torch.equal(cropped[2], given[2])


def test_flip_mirrors_the_chosen_images():
    given = images(count=3)
    flipped = image_ops.flip(given, torch.tensor([True, False, True]))
    assert torch.equal(flipped[0], tv.hflip(given[0]))
    assert torch.equal(flipped[1], given[1])
    assert torch.equal(flipped[2], tv.hflip(given[2]))


def test_resized_crop_equals_cutting_and_scaling():
    given = images(count=5)
    boxes = torch.tensor([[0, 0, 12, 10], [3, 2, 5, 7], [11, 9, 1, 1], [2, 0, 10, 3], [0, 4, 7, 6]])
    resized = image_ops.resized_crop(given, boxes)
    assert torch.allclose(resized[0], given[0], atol=1e-5)
    for image, out, box in zip(given, resized, boxes.tolist(), strict=True):
        expected = tv.resized_crop(image, *box, size=[12, 10], antialias=True)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-5)
