"""From pool indices to normalised images, or features as they are, on the learner's device."""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.learners.augmentation import Augmentation
from fsl_sweep.orchestrator.at_once import at_once


class PoolImages:
    """Images of one pool as float tensors; of a pool of features, these as they are.

    On a GPU the whole pool is kept on the device where a quarter of its free memory holds
    it, so that no step waits for a copy; elsewhere images are gathered from the memory map.
    """

    def __init__(self, pool: ImagePool, benchmark: Benchmark, device: torch.device) -> None:
        self.pool, self.device = pool, device
        self.at_once = at_once(device, pool.images.shape[1:])
        shape = (1, -1, 1, 1)
        self._mean = torch.tensor(benchmark.pixel_mean, dtype=torch.float32, device=device).view(
            shape
        )
        self._std = torch.tensor(benchmark.pixel_std, dtype=torch.float32, device=device).view(
            shape
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
        unit = raw if self.pool.holds_features else raw.float().div_(255)
        return unit.view(*indices.shape, *raw.shape[1:])

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

        Features stay as they are: theirs are 0 and 1 (`Benchmark.pixel_mean`).
        """
        flat = images.view(-1, *images.shape[-3:])
        return ((flat - self._mean) / self._std).view(images.shape)

    def through(self, network: Callable[[Tensor], Tensor], indices: np.ndarray) -> Tensor:
        """What a network in evaluation mode gives for each normalised image, ``[n, ...]``.

        The images pass in chunks of one size, of which the last is filled up with images that have
        passed before: kernels are chosen by the number of images, and what is found for an image
        must not depend, not even in its last bits, on how many others are asked for.

        Args:
            network: from images ``[m, C, H, W]`` to a row for each.
            indices: pool indices ``[n]`` of the images, at least one.
        """
        size = self.at_once.images
        filled = np.resize(indices, size * math.ceil(len(indices) / size))
        chunks = (filled[start : start + size] for start in range(0, len(filled), size))
        parts = [network(self.normalised(self.unit(chunk))) for chunk in chunks]
        return torch.cat(parts)[: len(indices)]
