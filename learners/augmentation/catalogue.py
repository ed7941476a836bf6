"""Random changes to training images: one call a batch, a different draw for each image.

The two recipes of "Two Sides of Meta-Learning Evaluation", appendix D.2. Both take the pool's
images, at their final size, with values in [0, 1], before normalisation.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fsl_sweep.learners.augmentation.operations import (
    BRIGHTNESS,
    CONTRAST,
    SATURATION,
    crop,
    flip,
    jitter,
    resized_crop,
)
from fsl_sweep.learners.shapes import Images

Augmentation = Callable[[Images, torch.Generator], Images]
"""Changes images of one channel or three; the generator may be on another device than they are."""

STRENGTH = 0.4
AREA = 0.08, 1.0  # share of the image that a resized crop takes
RATIO = 3 / 4, 4 / 3  # its width over its height
ATTEMPTS = 10


def unchanged(images: Images, draws: torch.Generator) -> Images:  # noqa: ARG001 - every augmentation is called alike
    """Return the images unchanged."""
    return images


def crop_jitter_flip(images: Images, draws: torch.Generator) -> Images:
    """Augment as MetaOptNet for CIFAR-FS, FC100, tiered-ImageNet (arXiv 1904.03758, section 4.1).

    A crop from the zero-padded image (by 4 pixels; by 8 from 64 pixels on), brightness, contrast
    and saturation times 0.6 to 1.4 in random order, and a horizontal flip of every other image.
    """
    count, _, height, width = images.shape
    padding = 8 if min(height, width) >= 64 else 4
    corners = _uniform(draws, count, 2, 0.0, 2.0 * padding + 1).floor().long().to(images.device)
    order = _uniform(draws, count, 3, 0.0, 1.0).argsort(dim=1)
    cropped = crop(images, corners[:, 0], corners[:, 1], padding)
    return _flipped(_jittered(cropped, order, draws), draws)


def resized_crop_jitter_flip(images: Images, draws: torch.Generator) -> Images:
    """Augment as Chen et al. for mini-ImageNet (arXiv 1904.04232, section 4.1).

    A crop of 8 to 100 % of the area with an aspect of 3/4 to 4/3, resized to the image's size,
    brightness, contrast and saturation times 0.6 to 1.4 in this order, and a horizontal flip of
    every other image.
    """
    height, width = images.shape[-2:]
    order = torch.tensor([[BRIGHTNESS, CONTRAST, SATURATION]]).expand(len(images), 3)
    boxes = crop_boxes(len(images), height, width, draws).to(images.device)
    return _flipped(_jittered(resized_crop(images, boxes), order, draws), draws)


def crop_boxes(count: int, height: int, width: int, draws: torch.Generator) -> Tensor:
    """Draw boxes (top, left, height, width) of resized crops, int64 ``[count, 4]``, in the image.

    The first of ten attempts that fits is taken, or the whole image if none does.
    """
    area = _uniform(draws, count, ATTEMPTS, *AREA) * height * width
    low, high = torch.tensor(RATIO).log().tolist()
    ratio = _uniform(draws, count, ATTEMPTS, low, high).exp()
    heights, widths = (area / ratio).sqrt().round(), (area * ratio).sqrt().round()
    fits = (heights >= 1) & (heights <= height) & (widths >= 1) & (widths <= width)
    first = fits.to(torch.uint8).argmax(dim=1, keepdim=True)
    fitting = fits.any(dim=1)
    box_height = heights.gather(1, first).squeeze(1).where(fitting, height)
    box_width = widths.gather(1, first).squeeze(1).where(fitting, width)
    place = _uniform(draws, count, 2, 0.0, 1.0)
    top = (place[:, 0] * (height - box_height + 1)).floor()
    left = (place[:, 1] * (width - box_width + 1)).floor()
    return torch.stack([top, left, box_height, box_width], dim=1).long()


AUGMENTATIONS: dict[str, Augmentation] = {
    "none": unchanged,
    "crop-jitter-flip": crop_jitter_flip,
    "resized-crop-jitter-flip": resized_crop_jitter_flip,
}


def _jittered(images: Images, order: Tensor, draws: torch.Generator) -> Images:
    factors = _uniform(draws, len(images), 3, 1 - STRENGTH, 1 + STRENGTH)
    return jitter(images, factors.to(images.device), order.to(images.device))


def _flipped(images: Images, draws: torch.Generator) -> Images:
    return flip(images, (_uniform(draws, len(images), 1, 0.0, 1.0)[:, 0] < 0.5).to(images.device))


def _uniform(draws: torch.Generator, rows: int, columns: int, low: float, high: float) -> Tensor:
    """Draw numbers ``[rows, columns]`` in [low, high), on the generator's device."""
    unit = torch.rand(rows, columns, generator=draws, device=draws.device)
    return low + (high - low) * unit
