"""DropBlock: dropout of square regions of a feature map, on a schedule of training steps.

Ghiasi, Lin, Le, "DropBlock" (arXiv 1810.12890), with the schedule and the rescaling of MetaOptNet
(arXiv 1904.03758, supplement). MetaOptNet's released code counts forward passes, two a training
step, and those of evaluation as well, so that measuring more changes training. Here only training
steps count.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import max_pool2d, pad


def drop_blocks(
    features: Float[Tensor, "n c h w"], rate: float, block_size: int, draws: torch.Generator
) -> Float[Tensor, "n c h w"]:
    """Zero blocks so that about ``rate`` of all units is dropped, and rescale the rest.

    The rate, in [0, 1), ignores overlaps of blocks. ``block_size`` is the side of a block, at most
    that of the maps; 1 is dropout of single units. ``draws`` is on the device of the features. The
    survivors are multiplied by units / survivors, counted over the whole batch.
    """
    height, width = features.shape[-2:]
    block = min(block_size, height, width)
    places = height - block + 1, width - block + 1
    gamma = rate * height * width / (block**2 * places[0] * places[1])
    corners = torch.rand(
        (*features.shape[:2], *places), generator=draws, device=features.device
    ).lt(gamma)
    if block > 1:
        # Every corner spreads to the block below and to the right of it.
        margin = block - 1
        spread = pad(corners.float(), (margin, margin, margin, margin))
        dropped = max_pool2d(spread, block, stride=1).bool()
    else:
        dropped = corners
    kept = (~dropped).sum().clamp_min(1)
    factor = (dropped.numel() / kept).to(features.dtype)
    return features.masked_fill(dropped, 0) * factor


@final
class DropSchedule(nn.Module):
    """Counts training steps, and from the count gives the drop rate and the random draws.

    A pass through the network is a training step, unless `one_training_step` holds several.

    Counter and seed are buffers (``step``, ``seed``, int64 scalars), so that a learner that is
    saved and loaded makes the draws that it would have made.

    The rate rises linearly from 0 to ``rate``, in [0, 1), over ``steps`` training steps.
    """

    step: Tensor
    seed: Tensor

    def __init__(self, rate: float, steps: int) -> None:
        super().__init__()
        self.final_rate, self.steps = rate, steps
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))
        self.register_buffer("seed", torch.randint(2**62, ()))
        self._mirror()
        # Passes so far within `one_training_step`, or None outside of it.
        self._passes: int | None = None
        self.register_load_state_dict_post_hook(lambda schedule, _: schedule._mirror())

    def advance(self, device: torch.device) -> torch.Generator:
        """Start the next training step and return its generator, on ``device``.

        Within `one_training_step` it starts the next pass of the step, with other draws.
        """
        if self._passes is None or self._passes == 0:
            self._step += 1
            self.step.fill_(self._step)
        entropy = [self._seed, self._step]
        if self._passes is not None:
            entropy.append(self._passes)
            self._passes += 1
        state = np.random.SeedSequence(entropy).generate_state(1, np.uint64)
        draws = torch.Generator(device=device)
        return draws.manual_seed(int(state[0]))

    @property
    def rate(self) -> float:
        """Return the drop rate of the current step, in [0, 1)."""
        return self.final_rate * min(1.0, self._step / self.steps)

    def _mirror(self) -> None:
        # Copies of the buffers: reading a buffer on a GPU would stall every training step.
        self._step, self._seed = int(self.step), int(self.seed)


@contextmanager
def one_training_step(network: nn.Module) -> Iterator[None]:
    """Count all passes through ``network`` within the block as one training step.

    A step may have one pass, two (support and queries) or one for each step of an adaptation.
    """
    schedules = [module for module in network.modules() if isinstance(module, DropSchedule)]
    for schedule in schedules:
        schedule._passes = 0
    try:
        yield
    finally:
        for schedule in schedules:
            schedule._passes = None
