"""From pool indices to normalised images, or features as they are, on the learner's device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from fsl_sweep.datasets.benchmark import Benchmark
from fsl_sweep.datasets.pool import ImagePool
from fsl_sweep.learners.at_once import at_once, in_chunks


class PoolImages:
    """Images of one pool as float tensors; a pool of features gives these unchanged.

    Images of another size or other channels than those of the benchmark that was trained on are
    fitted to its images: resized with antialiasing, grey from the mean of the channels.

    On a GPU all of the pool is kept on the device if a quarter of its free memory holds it, so that
    no step waits for a copy; otherwise images are gathered from the memory map.
    """

    def __init__(self, pool: ImagePool, benchmark: Benchmark, device: torch.device) -> None:
        self.pool, self.device = pool, device
        self._shape = benchmark.image_shape
        self.at_once = at_once(device, self._shape)
        self._mean, self._std = (
            torch.tensor(each, dtype=torch.float32, device=device).view(1, -1, 1, 1)
            for each in (benchmark.pixel_mean, benchmark.pixel_std)
        )
        self._resident: Tensor | None = None
        if device.type == "cuda" and pool.images.nbytes * 4 < torch.cuda.mem_get_info(device)[0]:
            self._resident = torch.from_numpy(np.array(pool.images)).to(device)

    @property
    def preparation(self) -> dict[str, Any]:
        """Return all that decides what a network is handed for a pool index, as JSON values."""
        return {
            "pool": self.pool.fingerprint,
            "shape": list(self._shape),
            "statistics": [self._mean.flatten().tolist(), self._std.flatten().tolist()],
            "at_once": self.at_once.images,
        }

    def unit(self, indices: np.ndarray) -> Tensor:
        """Return images in [0, 1], or features, float32 ``[*indices.shape, C, H, W]``."""
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

    def normalised(self, images: Tensor) -> Tensor:
        """Give images zero mean and unit variance a channel, by the training images' statistics.

        Features do not change: their statistics are 0 and 1 (`Benchmark.pixel_mean`).
        """
        flat = images.view(-1, *images.shape[-3:])
        return ((flat - self._mean) / self._std).view(images.shape)

    def ready(self, indices: np.ndarray) -> Tensor:
        """Return normalised images, or features, ``[*indices.shape, C, H, W]``."""
        return self.normalised(self.unit(indices))

    def through(self, network: Callable[[Tensor], Tensor], indices: np.ndarray) -> Tensor:
        """Return what a network in evaluation mode gives for each normalised image, as `in_chunks`.

        ``network`` gives a row for each image; ``indices`` ``[n]`` are at least one.
        """
        return in_chunks(lambda chunk: network(self.ready(chunk)), indices, self.at_once.images)
