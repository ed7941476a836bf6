"""How much is measured at once: a matter of the kind of device and the shape of the images alone.

Sizes decide which kernels are chosen, and with them the last bits of features. So that equal trials
have equal records, nothing is tuned to the machine at hand or to its load.

On a CPU what one layer leaves should still be in the cache when the next layer wants it; a GPU is
busy only when it is given much. The sizes for CPUs were measured (``benchmarks/evaluation.py``);
those for other devices bound the memory, and were not.
"""

from dataclasses import dataclass

import torch

_LARGE_IMAGE = 64 * 64


@dataclass(frozen=True)
class AtOnce:
    """Sizes of what is computed together.

    Attributes:
        images: that pass through a network together.
        floats: features of support and queries that a head is given together.
        adapted: support and query images of the tasks that are adapted together.
    """

    images: int
    floats: int
    adapted: int


def at_once(device: torch.device, image_shape: tuple[int, ...]) -> AtOnce:
    """The sizes for images ``[c, height, width]``, or features as such, on a kind of device."""
    if device.type != "cpu":
        return AtOnce(images=512, floats=2**25, adapted=1024)
    pixels = image_shape[-1] * image_shape[-2]
    if pixels == 1:  # features, which pass through hardly anything
        return AtOnce(images=512, floats=2**20, adapted=1024)
    # Tasks that adapt features are faster the more there are; with convolutions they adapt one
    # after the other, whatever their number.
    return AtOnce(images=32 if pixels < _LARGE_IMAGE else 16, floats=2**20, adapted=1024)
