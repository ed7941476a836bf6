"""The memory layout in which convolutions run fastest."""

import torch
from jaxtyping import Float
from torch import Tensor

_HALF = (torch.bfloat16, torch.float16)


def fastest_layout(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """The same images, channels last where that makes convolutions faster.

    On a CPU channels-last pooling, batch norm and convolution take about half the time; on a GPU
    tensor cores want it in half precision. The weights keep the usual layout, so that a snapshot
    holds plain contiguous tensors; the layout of the images alone decides that of all that follows.
    """
    device = images.device.type
    half = images.dtype in _HALF or torch.is_autocast_enabled(device)
    if device != "cpu" and not half:
        return images
    # Not ``contiguous``: it leaves a single channel's ambiguous strides as they are, and the first
    # convolution would then go on in the slow layout.
    laid_out = torch.empty(
        images.shape,
        dtype=images.dtype,
        device=images.device,
        memory_format=torch.channels_last,
    )
    return laid_out.copy_(images)
