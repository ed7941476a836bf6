"""From pool indices to normalised images, or features as they are, on the learner's device."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.learners.augmentation.catalogue import Augmentation
from fsl_sweep.orchestrator.errors import BadData


@dataclass(frozen=True)
class AtOnce:
    """How many images pass through a network together, and how many floats through a head.

    ``adapted`` counts the support and query images of the tasks that are adapted together.
    """

    images: int
    floats: int
    adapted: int = 1024


def at_once(device: torch.device, image_shape: tuple[int, ...]) -> AtOnce:
    """The sizes for images ``[c, height, width]``, or features, on a kind of device.

    Sizes decide which kernels are chosen, and with them the last bits of features. They depend only
    on the arguments, not on the machine or its load, so that equal trials have equal records.

    On a CPU a layer's output should still be in the cache when the next layer needs it; a GPU needs
    large batches. The sizes for CPUs were measured (``benchmarks/evaluation.py``); those for other
    devices bound the memory, and were not.
    """
    if device.type != "cpu":
        return AtOnce(images=512, floats=2**25)
    pixels = image_shape[-1] * image_shape[-2]
    images = 512 if pixels == 1 else 32 if pixels < 64 * 64 else 16  # features need little work
    return AtOnce(images, floats=2**20)


class PoolImages:
    """Images of one pool as float tensors; a pool of features gives these unchanged.

    Images of another size or other channels than those of the benchmark that was trained on are
    fitted to its images: resized with antialiasing, grey from the mean of the channels.

    On a GPU the whole pool is kept on the device if a quarter of its free memory holds it, so that
    no step waits for a copy; otherwise images are gathered from the memory map.
    """

    def __init__(self, pool: ImagePool, benchmark: Benchmark, device: torch.device) -> None:
        self.pool, self.device = pool, device
        self._shape = benchmark.image_shape
        if pool.holds_features and pool.image_shape != self._shape:
            raise BadData(
                f"The features have {pool.image_shape[0]} numbers, those that were trained on "
                f"{self._shape[0]}."
            )
        self.at_once = at_once(device, self._shape)
        self._mean, self._std = (
            torch.tensor(each, dtype=torch.float32, device=device).view(1, -1, 1, 1)
            for each in (benchmark.pixel_mean, benchmark.pixel_std)
        )
        self._resident: Tensor | None = None
        if device.type == "cuda" and pool.images.nbytes * 4 < torch.cuda.mem_get_info(device)[0]:
            self._resident = torch.from_numpy(np.array(pool.images)).to(device)

    def unit(self, indices: np.ndarray) -> Tensor:
        """Images with values in [0, 1], or features, float32 ``[*indices.shape, C, H, W]``."""
        flat = indices.reshape(-1)
        if self._resident is not None:
            raw = self._resident[torch.from_numpy(flat).to(self.device)]
        else:
            raw = torch.from_numpy(self.pool.images[flat]).to(self.device)
        unit = raw if self.pool.holds_features else self._fitted(raw.float().div_(255))
        return unit.view(*indices.shape, *unit.shape[1:])

    def _fitted(self, images: Tensor) -> Tensor:
        channels, *size = self._shape
        if images.shape[1] != channels:
            images = images.mean(dim=1, keepdim=True).expand(-1, channels, -1, -1)
        if list(images.shape[2:]) != size:
            images = interpolate(images, size, mode="bilinear", antialias=True)
        return images.contiguous()

    def augmented(
        self, indices: np.ndarray, augment: Augmentation, draws: torch.Generator, kept: int = 0
    ) -> Tensor:
        """Images as in `unit`, ``[indices.size, C, H, W]``, all but the first ``kept`` changed."""
        images = self.unit(indices.reshape(-1))
        if kept == 0:
            return augment(images, draws)
        return torch.cat([images[:kept], augment(images[kept:], draws)])

    def normalised(self, images: Tensor) -> Tensor:
        """Zero mean and unit variance a channel, by the training images' statistics.

        Features do not change: their statistics are 0 and 1 (`Benchmark.pixel_mean`).
        """
        flat = images.view(-1, *images.shape[-3:])
        return ((flat - self._mean) / self._std).view(images.shape)

    def through(self, network: Callable[[Tensor], Tensor], indices: np.ndarray) -> Tensor:
        """What a network in evaluation mode gives for each normalised image, ``[n, ...]``.

        All chunks have one size; the last is filled up with images that have passed before. Kernels
        are chosen by the number of images, and the result for an image must not depend, not even in
        its last bits, on how many others are asked for.

        ``network`` gives a row for each image; ``indices`` ``[n]`` are at least one.
        """
        size = self.at_once.images
        filled = np.resize(indices, size * math.ceil(len(indices) / size))
        chunks = (filled[start : start + size] for start in range(0, len(filled), size))
        parts = [network(self.normalised(self.unit(chunk))) for chunk in chunks]
        return torch.cat(parts)[: len(indices)]
