import pytest
import torch
from scipy import stats

from fsl_sweep.learners.augmentation.catalogue import AUGMENTATIONS, crop_boxes

RANDOM = ["crop-jitter-flip", "resized-crop-jitter-flip"]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def images(count=8, channels=3, side=32):
    return torch.rand(count, channels, side, side, generator=generator(9))


@pytest.mark.parametrize("name", list(AUGMENTATIONS))
@pytest.mark.parametrize("shape", [(3, 32), (1, 28), (3, 84)])
def test_shape_range_and_layout_are_kept(name, shape):
    given = images(5, *shape)
    before = given.clone()
    out = AUGMENTATIONS[name](given, generator())
    assert out.shape == given.shape
    assert out.dtype == torch.float32
    assert out.is_contiguous()
    assert out.min() >= 0
    assert out.max() <= 1
    assert torch.equal(given, before)


@pytest.mark.parametrize("name", RANDOM)
def test_the_same_draws_give_the_same_images_and_others_do_not(name):
    given = images()
    out = AUGMENTATIONS[name](given, generator(1))
    assert torch.equal(out, AUGMENTATIONS[name](given, generator(1)))
    assert not torch.equal(out, AUGMENTATIONS[name](given, generator(2)))


@pytest.mark.parametrize("name", RANDOM)
def test_each_image_has_a_draw_of_its_own(name):
    one = images(1)
    out = AUGMENTATIONS[name](one.expand(8, -1, -1, -1), generator())
    assert len({tuple(image.flatten().tolist()) for image in out}) == 8


@pytest.mark.parametrize("name", RANDOM)
def test_nothing_is_taken_from_the_global_generator(name):
    before = torch.get_rng_state()
    AUGMENTATIONS[name](images(), generator())
    assert torch.equal(torch.get_rng_state(), before)


def test_none_gives_the_images_themselves():
    given = images()
    assert AUGMENTATIONS["none"](given, generator()) is given


@pytest.mark.parametrize(("side", "padding"), [(28, 4), (32, 4), (84, 8)])
def test_crops_move_by_up_to_the_padding_each_way_and_half_are_mirrored(side, padding):
    # One bright pixel in the middle of a dark image shows where the crop went; its place is not
    # symmetric, so a mirror shows as well. Jitter leaves a pixel of its own brightest.
    given = torch.zeros(1500, 1, side, side)
    row, column = side // 2, side // 2 - 2
    given[:, 0, row, column] = 1
    out = AUGMENTATIONS["crop-jitter-flip"](given, generator())
    found = out.flatten(1).argmax(1)
    rows, columns = found // side, found % side
    assert set((rows - row).tolist()) == set(range(-padding, padding + 1))
    counts = torch.bincount(rows - rows.min())
    assert stats.chisquare(counts.numpy()).pvalue > 1e-4
    mirrored = side - 1 - column
    expected = set(range(column - padding, column + padding + 1))
    expected |= set(range(mirrored - padding, mirrored + padding + 1))
    assert set(columns.tolist()) == expected


def test_half_of_the_images_are_mirrored():
    # Left black, right white: no crop of at most 4 pixels hides which side is which.
    given = torch.zeros(4000, 1, 32, 32)
    given[..., 16:] = 1
    out = AUGMENTATIONS["crop-jitter-flip"](given, generator())
    mirrored = (out[..., :16].mean((1, 2, 3)) > out[..., 16:].mean((1, 2, 3))).sum().item()
    assert stats.binomtest(mirrored, 4000, 0.5).pvalue > 1e-4


def test_brightness_of_a_uniform_image_is_spread_evenly_from_0_6_to_1_4():
    # The boxes of a uniform image are uniform; contrast and saturation do not change it.
    given = torch.full((4000, 3, 8, 8), 0.5)
    out = AUGMENTATIONS["resized-crop-jitter-flip"](given, generator())
    factors = out.mean((1, 2, 3)).div(0.5).numpy()
    assert stats.kstest(factors, stats.uniform(0.6, 0.8).cdf).pvalue > 1e-4


def test_boxes_are_inside_and_have_the_papers_areas_and_aspects():
    boxes = crop_boxes(5000, 84, 84, generator())
    top, left, height, width = boxes.unbind(1)
    assert boxes.min() >= 0
    assert (top + height <= 84).all()
    assert (left + width <= 84).all()
    area, ratio = height * width / 84**2, width / height
    # Sides are rounded to whole pixels, which moves a small box by a few per cent.
    assert 0.07 < area.min() < 0.1
    assert area.max() > 0.95
    assert 0.72 < ratio.min() < 0.78
    assert 1.29 < ratio.max() < 1.39
    assert abs(ratio.log().mean()) < 0.02


def test_a_box_that_fits_nowhere_is_the_whole_image():
    # 3/4 to 4/3 of an image of 1 x 100 pixels is never both whole pixels and inside.
    boxes = crop_boxes(200, 1, 100, generator())
    whole = (boxes == torch.tensor([0, 0, 1, 100])).all(1)
    assert whole.any()
    assert (boxes[:, 0] + boxes[:, 2] <= 1).all()
    assert (boxes[:, 1] + boxes[:, 3] <= 100).all()
