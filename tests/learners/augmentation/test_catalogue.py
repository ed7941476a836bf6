"""The recipes of augmentation, and their batched operations against torchvision's, one by one."""

from itertools import permutations

import pytest
import torch
from scipy import stats
from small import generator

from fsl_sweep.learners.augmentation import catalogue as ops
from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS, crop_boxes
from fsl_sweep.learners.backbones.torchvision_guard import load_torchvision


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 84, 84)], ids=str)
@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_each_image_is_changed_by_draws_of_its_own_within_its_shape_and_range(name, shape):
    augment, images = AUGMENTATIONS[name], torch.rand(5, *shape, generator=generator(9))
    before, state = images.clone(), torch.get_rng_state()
    augmented = augment(images, generator(1))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(images, before)
    if name == "none":
        assert augmented is images
        return
    assert (augmented.shape, augmented.dtype) == (images.shape, torch.float32)
    assert augmented.is_contiguous()
    assert 0 <= augmented.min() < augmented.max() <= 1
    assert torch.equal(augmented, augment(images, generator(1)))
    assert not torch.equal(augmented, augment(images, generator(2)))
    copies = augment(images[:1].expand(8, -1, -1, -1), generator())
    assert len({image.numpy().tobytes() for image in copies}) == 8


@pytest.mark.parametrize(("side", "padding"), [(28, 4), (32, 4), (64, 8)])
def test_crops_move_by_up_to_the_padding_each_way_and_half_are_mirrored(side, padding):
    # One bright pixel in the left half of a dark image shows where the crop went; a mirror moves it
    # to the right half. Jitter leaves a pixel of its own brightest.
    images = torch.zeros(1500, 1, side, side)
    row, column = side // 2, side // 4
    images[:, 0, row, column] = 1
    brightest = AUGMENTATIONS["crop-jitter-flip"](images, generator()).flatten(1).argmax(1)
    rows, columns = brightest // side, brightest % side
    assert set((rows - row).tolist()) == set(range(-padding, padding + 1))
    counts = torch.bincount(rows - rows.min())
    assert stats.chisquare(counts.numpy()).pvalue > 1e-4
    places = (column, side - 1 - column)
    expected = {place + move for place in places for move in range(-padding, padding + 1)}
    assert set(columns.tolist()) == expected
    mirrored = int((columns >= side // 2).sum())
    assert stats.binomtest(mirrored, 1500, 0.5).pvalue > 1e-4


def test_brightness_of_a_uniform_image_is_spread_evenly_from_0_6_to_1_4():
    # The boxes of a uniform image are uniform; contrast and saturation do not change it.
    images = torch.full((4000, 3, 8, 8), 0.5)
    augmented = AUGMENTATIONS["resized-crop-jitter-flip"](images, generator())
    factors = augmented.mean((1, 2, 3)).div(0.5).numpy()
    assert stats.kstest(factors, stats.uniform(0.6, 0.8).cdf).pvalue > 1e-4


def test_boxes_are_inside_and_have_the_papers_areas_and_aspects():
    top, left, height, width = crop_boxes(5000, 84, 84, generator()).unbind(1)
    assert min(top.min(), left.min(), height.min(), width.min()) >= 0
    assert max((top + height).max(), (left + width).max()) <= 84
    area, ratio = height * width / 84**2, width / height
    # Sides are rounded to whole pixels, which moves a small box by a few per cent.
    assert 0.07 < area.min() < 0.1
    assert area.max() > 0.95
    assert 0.72 < ratio.min() < 0.78
    assert 1.29 < ratio.max() < 1.39
    assert abs(ratio.log().mean()) < 0.02
    # 3/4 to 4/3 of an image of 1 x 100 pixels is never both whole pixels and inside.
    boxes = crop_boxes(200, 1, 100, generator())
    assert (boxes == torch.tensor([0, 0, 1, 100])).all(1).any()
    assert (boxes[:, :2] + boxes[:, 2:] <= torch.tensor([1, 100])).all()


tv = load_torchvision("torchvision.transforms.functional")
OPERATIONS = {
    ops.BRIGHTNESS: tv.adjust_brightness,
    ops.CONTRAST: tv.adjust_contrast,
    ops.SATURATION: tv.adjust_saturation,
}


def images(count=6, channels=3):
    return torch.rand(count, channels, 12, 10, generator=generator())


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_applies_each_images_factors_in_its_own_order(channels):
    factors = torch.empty(6, 3).uniform_(0.6, 1.4, generator=generator(1))
    factors[0] = 0
    before, order = images(channels=channels), torch.tensor(list(permutations(OPERATIONS)))
    after = ops.jitter(before, factors, order)
    for image, jittered, factor, operations in zip(before, after, factors, order, strict=True):
        for operation in operations.tolist():
            image = OPERATIONS[operation](image, factor[operation].item())
        torch.testing.assert_close(jittered, image, rtol=1e-5, atol=2e-6)
    assert not torch.allclose(after, before)
    with pytest.raises(ValueError, match="1 or 3 channels; these have 2"):
        ops.jitter(images(channels=2), factors, order)


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
