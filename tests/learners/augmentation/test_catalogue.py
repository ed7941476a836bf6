import pytest
import torch
from scipy import stats
from small import generator

from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS, crop_boxes


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
    # One bright pixel in the middle of a dark image shows where the crop went; its place is not
    # symmetric, so a mirror shows as well. Jitter leaves a pixel of its own brightest.
    images = torch.zeros(1500, 1, side, side)
    row, column = side // 2, side // 2 - 2
    images[:, 0, row, column] = 1
    brightest = AUGMENTATIONS["crop-jitter-flip"](images, generator()).flatten(1).argmax(1)
    rows, columns = brightest // side, brightest % side
    assert set((rows - row).tolist()) == set(range(-padding, padding + 1))
    counts = torch.bincount(rows - rows.min())
    assert stats.chisquare(counts.numpy()).pvalue > 1e-4
    places = (column, side - 1 - column)
    expected = {place + move for place in places for move in range(-padding, padding + 1)}
    assert set(columns.tolist()) == expected


def test_half_of_the_images_are_mirrored():
    # Left black, right white: no crop of at most 4 pixels hides which side is which.
    images = torch.zeros(4000, 1, 32, 32)
    images[..., 16:] = 1
    augmented = AUGMENTATIONS["crop-jitter-flip"](images, generator())
    mirrored = augmented[..., :16].mean((1, 2, 3)) > augmented[..., 16:].mean((1, 2, 3))
    assert stats.binomtest(int(mirrored.sum()), 4000, 0.5).pvalue > 1e-4


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
