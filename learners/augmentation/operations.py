"""What an augmentation does to a batch, once the draws are made: pure and vectorised.

Each image has its own parameters. Image by image the results agree with torchvision's functional
transforms.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import grid_sample, pad

from fsl_sweep.learners.shapes import Images

BRIGHTNESS, CONTRAST, SATURATION = 0, 1, 2
LUMA = 0.2989, 0.587, 0.114  # ITU-R BT.601, rounded as torchvision rounds it


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
