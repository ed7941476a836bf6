"""How much passes through a network or a head at once; it decides the last bits of features."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor


@dataclass(frozen=True)
class AtOnce:
    """How many images pass through a network together, and how many floats through a head.

    ``adapted`` counts the support and query images of the tasks that are adapted together.
    """

    images: int
    floats: int
    adapted: int = 1024


def at_once(device: torch.device, image_shape: tuple[int, ...]) -> AtOnce:
    """Return the sizes for images ``[c, height, width]``, or features, on a kind of device.

    Sizes decide which kernels are chosen, and with them the last bits of features. They depend only
    on the arguments, not on the machine or its load, so that equal trials have equal records.

    On a CPU a layer's output should still be in the cache when the next layer needs it; a GPU needs
    large batches. The sizes for CPUs were measured (``benchmarks/evaluation.py``); those for other
    devices bound the memory, and were not.
    """
    if device.type != "cpu":
        return AtOnce(images=512, floats=2**25)
    pixels = image_shape[-1] * image_shape[-2]
    images = 512 if pixels == 1 else 64 if pixels < 64 * 64 else 16  # features need little work
    return AtOnce(images, floats=2**20)


def in_chunks(
    network: Callable[[np.ndarray], Tensor], indices: Int[np.ndarray, " n"], size: int
) -> Tensor:
    """Pass at least one image through a network in evaluation mode, in chunks: ``[n, ...]``.

    All chunks have one size; the last is filled up with images that have passed before. Kernels are
    chosen by the number of images, and the result for an image must not depend, not even in its
    last bits, on how many others are asked for. ``network`` gives a row for each of ``size``
    indices.
    """
    filled = np.resize(indices, size * math.ceil(len(indices) / size))
    parts = [network(filled[start : start + size]) for start in range(0, len(filled), size)]
    return torch.cat(parts)[: len(indices)]
