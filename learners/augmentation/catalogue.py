"""Random changes to training images: one call a batch, a different draw for each image.

The two recipes of "Two Sides of Meta-Learning Evaluation", appendix D.2. Both take the pool's
images, at their final size, with values in [0, 1], before normalisation. What is done to a batch
once the draws are made agrees, image by image, with torchvision's functional transforms.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import grid_sample, pad

from fsl_sweep.learners.shapes import Images

Augmentation = Callable[[Images, torch.Generator], Images]
"""Changes images of one channel or three; the generator may be on another device than they are."""

STRENGTH = 0.4
AREA = 0.08, 1.0  # share of the image that a resized crop takes
RATIO = 3 / 4, 4 / 3  # its width over its height
ATTEMPTS = 10
BRIGHTNESS, CONTRAST, SATURATION = 0, 1, 2
LUMA = 0.2989, 0.587, 0.114  # ITU-R BT.601, rounded as torchvision rounds it


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


def crop(images: Images, top: Int[Tensor, " n"], left: Int[Tensor, " n"], padding: int) -> Images:
    """Cut windows of the images' own size from the images padded with zeros on all sides.

    Args:
        images: the batch.
        top: first row of each window in the padded image, 0 .. 2 * padding.
        left: its first column.
        padding: pixels added on each side.
    """
    count, channels, height, width = images.shape
    device = images.device
    padded = pad(images, (padding, padding, padding, padding))
    rows = top[:, None] + torch.arange(height, device=device)  # [n, h]
    columns = left[:, None] + torch.arange(width, device=device)  # [n, w]
    image = torch.arange(count, device=device)[:, None, None, None]
    channel = torch.arange(channels, device=device)[None, :, None, None]
    return padded[image, channel, rows[:, None, :, None], columns[:, None, None, :]]


def flip(images: Images, which: Bool[Tensor, " n"]) -> Images:
    """Mirror the images of ``which`` left to right."""
    return torch.where(which[:, None, None, None], images.flip(-1), images)


def jitter(images: Images, factors: Float[Tensor, "n 3"], order: Int[Tensor, "n 3"]) -> Images:
    """Change brightness, contrast and saturation of each image, in an order of its own.

    All three are a blend ``other + factor * (image - other)``, clipped to [0, 1]. They differ only
    in ``other``: black, the image's mean grey, its greys. So every image can have its own order.

    Args:
        images: one channel or three, values in [0, 1].
        factors: of brightness, contrast and saturation; 1 changes nothing.
        order: a permutation of (BRIGHTNESS, CONTRAST, SATURATION) for each image.
    """
    for step in range(3):
        operation = order[:, step]
        factor = factors.gather(1, operation[:, None])[:, :, None, None]
        images = torch.lerp(_blended_with(images, operation), images, factor).clamp_(0, 1)
    return images


def greys(images: Images) -> Float[Tensor, "n 1 h w"]:
    """Return the luma of each pixel; an image of one channel is its own.

    Raises:
        ValueError: the images have neither one channel nor three.
    """
    channels = images.shape[1]
    if channels == 1:
        return images
    if channels != 3:
        raise ValueError(
            f"Colour jitter needs images of 1 or 3 channels; these have {channels}. "
            "Use 'augment: none' for them."
        )
    red, green, blue = images.unbind(1)
    return (LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue).unsqueeze(1)


def resized_crop(images: Images, boxes: Int[Tensor, "n 4"]) -> Images:
    """Cut a box (top, left, height, width) from each image and scale it to the image's size.

    Bilinear, with pixel centres at halves. A box is never larger than its image, so no smoothing is
    needed.
    """
    _, _, height, width = images.shape
    top, left, box_height, box_width = boxes.to(images.dtype).unsqueeze(-1).unbind(1)  # [n, 1] each
    y = _source_coordinates(height, top, box_height)  # [n, h]
    x = _source_coordinates(width, left, box_width)  # [n, w]
    grid = torch.stack(
        [
            _to_grid(x, width)[:, None, :].expand(-1, height, -1),
            _to_grid(y, height)[:, :, None].expand(-1, -1, width),
        ],
        dim=-1,
    )
    return grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=True)


def _blended_with(images: Tensor, operation: Tensor) -> Tensor:
    grey = greys(images)
    operation = operation[:, None, None, None]
    mean = grey.mean(dim=(-2, -1), keepdim=True)
    other = torch.where(operation == CONTRAST, mean, grey)
    return torch.where(operation == BRIGHTNESS, torch.zeros_like(other), other)


def _source_coordinates(side: int, start: Tensor, length: Tensor) -> Tensor:
    """Return where in the image each of ``side`` target pixels is read, kept inside its box."""
    target = torch.arange(side, device=start.device, dtype=start.dtype) + 0.5
    inside = (target * (length / side) - 0.5).clamp_min(0).minimum(length - 1)
    return start + inside


def _to_grid(pixels: Tensor, side: int) -> Tensor:
    """Convert pixel coordinates 0 .. side - 1 to ``grid_sample``'s -1 .. 1."""
    return pixels * (2 / max(side - 1, 1)) - 1
